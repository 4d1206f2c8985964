"""Writes TFRecord files with TensorFlow, and what TensorFlow reads in them.

Needs tensorflow 2; run it in this folder: python3 make_golden.py

golden.json has, for each file, a list of records: for each feature its list of
values as TensorFlow parses it, bytes as base64; features of a SequenceExample are
lists of steps. Records that are not Examples are base64.
"""

import base64
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402

HERE = pathlib.Path(__file__).parent
PHOTOS = [HERE.parent / "decode" / f"420_{size}.jpg"
          for size in ("17x7", "33x16", "5x5", "7x17")]
CHANCE = numpy.random.RandomState(5)


def bytes_of(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def integers(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(number):
    count = number % 4
    return tf.train.Example(features=tf.train.Features(feature={
        "image/encoded": bytes_of(PHOTOS[number % len(PHOTOS)].read_bytes()),
        "image/class/label": integers(number * 1000 - 3),
        "image/class/text": bytes_of(f"class {number} é".encode()),
        "image/object/bbox/xmin": floats(*CHANCE.rand(count)),
        "ids": integers(*CHANCE.randint(-2**62, 2**62, count + 1)),
        "embedding": floats(*CHANCE.randn(8)),
        "score": floats(number / 3),
        "pixels": bytes_of(CHANCE.bytes(12)),
    })).SerializeToString()


def steps(*features):
    return tf.train.FeatureList(feature=features)


def sequence(number):
    count = number % 3
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={"label": integers(number)}),
        feature_lists=tf.train.FeatureLists(feature_list={
            "tokens": steps(*(integers(int(t)) for t in
                              CHANCE.randint(0, 50000, count))),
            "frames": steps(*(floats(*CHANCE.randn(3)) for _ in range(count + 1))),
        })).SerializeToString()


def values_of(feature):
    kind = feature.WhichOneof("kind")
    if kind is None:
        return []
    values = getattr(feature, kind).value
    return [base64.b64encode(value).decode() if kind == "bytes_list" else value
            for value in values]


def parsed_example(record):
    parsed = tf.train.Example.FromString(record)
    return {name: values_of(feature)
            for name, feature in sorted(parsed.features.feature.items())}


def parsed_sequence(record):
    parsed = tf.train.SequenceExample.FromString(record)
    found = {name: values_of(feature)
             for name, feature in parsed.context.feature.items()}
    found.update((name, [values_of(step) for step in steps.feature])
                 for name, steps in parsed.feature_lists.feature_list.items())
    return dict(sorted(found.items()))


def plain(record):
    return base64.b64encode(record).decode()


def write(name, records, parse, compression=""):
    path = str(HERE / name)
    options = tf.io.TFRecordOptions(compression_type=compression)
    with tf.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    read = [record.numpy() for record in tf.data.TFRecordDataset(path, compression)]
    return [parse(record) for record in read]


def main():
    texts = [b"", b"hello", bytes(range(256))]
    golden = {
        "examples-00000-of-00002.tfrecord":
            write("examples-00000-of-00002.tfrecord",
                  [example(number) for number in range(6)], parsed_example),
        "examples-00001-of-00002.tfrecord":
            write("examples-00001-of-00002.tfrecord",
                  [example(number) for number in range(6, 10)], parsed_example),
        "sequences.tfrecord":
            write("sequences.tfrecord", [sequence(number) for number in range(7)],
                  parsed_sequence),
        "plain.tfrecord": write("plain.tfrecord", texts, plain),
        "photos.tfrecord": write("photos.tfrecord",
                                 [photo.read_bytes() for photo in PHOTOS], plain),
        "empty.tfrecord": write("empty.tfrecord", [], plain),
    }
    for compression in ("GZIP", "ZLIB"):
        name = f"{compression.lower()}.tfrecord"
        golden[name] = write(name, texts * 10, plain, compression)
    (HERE / "golden.json").write_text(json.dumps(golden, indent=0) + "\n")


if __name__ == "__main__":
    main()
