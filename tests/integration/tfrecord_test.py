"""Datasets of TFRecord files, from the files to a trainer's batches. A trainer gets
what TensorFlow reads (tests/golden/tfrecord/make_golden.py)."""

import base64
import io
import json
import pathlib
import shutil
import struct

import crc32c
import numpy
import PIL.Image
import pytest
import torch

import forebay
from forebay import transforms as T
from trouble import ctl

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "tfrecord"
EXAMPLES = GOLDEN / "examples-*-of-00002.tfrecord"
FIELDS = {"image/class/label": "int64", "image/class/text": "text",
          "image/object/bbox/xmin": "float32[n]", "ids": "int64[n]",
          "embedding": "float32[8]", "score": "float32", "pixels": "uint16[2,3]"}
SMALL = T.Compose([T.Resize(8), T.CenterCrop(8)])


def golden(*names):
    known = json.loads((GOLDEN / "golden.json").read_text())
    return [record for name in names for record in known[name]]


def examples():
    return golden("examples-00000-of-00002.tfrecord",
                  "examples-00001-of-00002.tfrecord")


def open_records(dataset, **arguments):
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False,
        "ragged": "offsets", **arguments})


def masked(content):
    crc = crc32c.crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) % 2**32)


def frame(payload):
    length = struct.pack("<Q", len(payload))
    return length + masked(length) + payload + masked(payload)


def write(path, payloads):
    path.write_bytes(b"".join(map(frame, payloads)))
    return path


def epoch(loader):
    """Returns the fields of each sample, by its number."""
    found = {}
    for batch in loader:
        for place, number in enumerate(batch.sample_ids.tolist()):
            assert number not in found
            found[number] = [row(value, place) for value in batch]
    return found


def row(value, place):
    if isinstance(value, forebay.Ragged):
        return value.values[value.offsets[place]:value.offsets[place + 1]].copy()
    return value[place].copy() if isinstance(value, numpy.ndarray) else value[place]


def is_example(sample, record):
    """Returns whether a sample's FIELDS have the values that TensorFlow has read."""
    label, text, xmin, ids, embedding, score, pixels = sample
    return (label == record["image/class/label"][0] and
            text.encode() == base64.b64decode(record["image/class/text"][0]) and
            xmin.tobytes() ==
            numpy.float32(record["image/object/bbox/xmin"]).tobytes() and
            ids.tolist() == record["ids"] and
            embedding.tobytes() == numpy.float32(record["embedding"]).tobytes() and
            score == numpy.float32(record["score"][0]) and
            pixels.tobytes() == base64.b64decode(record["pixels"][0]) and
            pixels.shape == (2, 3) and pixels.dtype == numpy.uint16)


@pytest.mark.parametrize("pattern", [
    "examples-*-of-00002.tfrecord", "examples-{00000..00001}-of-00002.tfrecord",
    "{examples-00000-of-00002.tfrecord,examples-00001-of-00002.tfrecord}"])
def test_features_are_those_of_tensorflow(shared_daemon, pattern):
    expected = examples()
    with open_records(GOLDEN / pattern, fields=FIELDS, shuffle=True) as loader:
        assert len(loader.dataset) == 10 and loader.dataset.classes == []
        assert loader.dataset.uri == str(GOLDEN / pattern)
        found = epoch(loader)
    assert sorted(found) == list(range(10))
    assert all(is_example(found[number], record)
               for number, record in enumerate(expected))


def test_fields_come_in_the_order_that_is_asked_for(shared_daemon):
    names = ("score", "image/class/label")
    with open_records(EXAMPLES, fields={name: FIELDS[name]
                                        for name in names}) as loader:
        batch = next(iter(loader))
    assert batch._fields == ("score", "image_class_label")


def test_images_are_those_of_pil(shared_daemon):
    fields = {"image/encoded": "jpg", "image/class/label": "int64"}
    with open_records(EXAMPLES, fields=fields, transform=SMALL) as loader:
        found = epoch(loader)
    for number, record in enumerate(examples()):
        photo = base64.b64decode(record["image/encoded"][0])
        picture = PIL.Image.open(io.BytesIO(photo)).convert("RGB")
        width, height = picture.size
        assert found[number][0].shape == (3, 8, 8)
        assert found[number][1] == record["image/class/label"][0]
        if width == height:
            reference = numpy.asarray(picture.resize((8, 8), PIL.Image.BILINEAR))
            difference = (found[number][0].transpose(1, 2, 0).astype(int) -
                          reference)
            assert abs(difference).max() <= 1


def test_sequences_are_those_of_tensorflow(shared_daemon):
    with open_records(GOLDEN / "sequences.tfrecord", fields={
            "label": "int64", "tokens": "int64[n]",
            "frames": "float32[n,3]"}) as loader:
        found = epoch(loader)
    expected = golden("sequences.tfrecord")
    assert len(found) == len(expected)
    for number, record in enumerate(expected):
        label, tokens, frames = found[number]
        assert [label] == record["label"]
        assert tokens.tolist() == [token for step in record["tokens"]
                                   for token in step]
        assert frames.tobytes() == numpy.float32(record["frames"]).tobytes()
        assert frames.shape[1:] == (3,)


def test_records_may_be_no_examples(shared_daemon):
    expected = [base64.b64decode(record) for record in golden("plain.tfrecord")]
    for fields in (None, "bytes"):
        with open_records(GOLDEN / "plain.tfrecord", fields=fields) as loader:
            batch = next(iter(loader))
        assert batch._fields == ("record",) and batch.record == expected


def test_whole_records_of_other_types(shared_daemon, tmp_path):
    arrays = [numpy.arange(6, dtype="<i2").reshape(2, 3) + number
              for number in range(5)]
    path = write(tmp_path / "a.tfrecord", [array.tobytes() for array in arrays])
    with open_records(path, fields="int16[2,3]") as loader:
        found = epoch(loader)
    assert all((found[number][0] == array).all()
               for number, array in enumerate(arrays))
    path = write(tmp_path / "b.tfrecord",
                 [array.tobytes()[:4 * number] for number, array in
                  enumerate(arrays[:4])])
    with open_records(path, fields="int16[n,2]") as loader:
        found = epoch(loader)
    assert [found[number][0].shape for number in range(4)] == [
        (0, 2), (1, 2), (2, 2), (3, 2)]


def test_whole_records_that_are_numbers(shared_daemon, tmp_path):
    path = write(tmp_path / "a.tfrecord", [b"1234567890", b"-7"])
    with open_records(path, fields="int64") as loader:
        assert next(iter(loader)).record.tolist() == [1234567890, -7]


def test_fields_are_guessed(shared_daemon):
    with open_records(EXAMPLES, transform=SMALL) as loader:
        batch = next(iter(loader))
    assert batch._fields == (
        "embedding", "ids", "image_class_label", "image_class_text",
        "image_encoded", "image_object_bbox_xmin", "pixels", "score")
    assert batch.image_encoded.shape == (4, 3, 8, 8)
    assert isinstance(batch.ids, forebay.Ragged)
    assert batch.image_class_label.tolist() == [-3, 997, 1997, 2997]
    with open_records(GOLDEN / "photos.tfrecord", transform=SMALL) as loader:
        assert next(iter(loader)).record.shape == (4, 3, 8, 8)
    with open_records(GOLDEN / "sequences.tfrecord") as loader:
        batch = next(iter(loader))
    assert batch._fields == ("frames", "label", "tokens")


def test_any_name_is_read_as_records_if_it_is_said(shared_daemon, tmp_path):
    shutil.copy(GOLDEN / "plain.tfrecord", tmp_path / "train-00000-of-00001")
    with open_records(forebay.tfrecord(tmp_path / "train-*",
                                       fields="bytes")) as loader:
        assert len(next(iter(loader)).record) == 3


@pytest.mark.parametrize("pattern", [
    "x-train.tfrecord-00000-of-00002", "x-train.tfrecord-{00000..00001}-of-00002",
    "x-train.tfrecord-*", "x-train.tfrecord*", "*.tfrecord-?????-of-00002",
    "{x-train.tfrecord-00000-of-00002,x-train.tfrecord-00001-of-00002}"])
def test_a_number_may_follow_the_ending(shared_daemon, tmp_path, pattern):
    for number in range(2):
        shutil.copy(GOLDEN / "plain.tfrecord",
                    tmp_path / f"x-train.tfrecord-0000{number}-of-00002")
    files = 1 if pattern.endswith("n.tfrecord-00000-of-00002") else 2
    with open_records(tmp_path / pattern, fields="bytes") as loader:
        assert len(loader.dataset) == 3 * files


@pytest.mark.parametrize("name", ["x.tfrecord-0/a", "x.tfrecordings-0", "x.tfrecord0"])
def test_other_names_are_no_records(shared_daemon, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    shutil.copy(GOLDEN / "plain.tfrecord", tmp_path / name)
    with pytest.raises(forebay.InvalidArgument, match="a file whose name tells no"):
        open_records(tmp_path / name)


def test_torch_gets_tensors(shared_daemon):
    fields = {"embedding": "float32[8]", "ids": "int64[n]"}
    with open_records(EXAMPLES, fields=fields, framework="torch") as loader:
        batch = next(iter(loader))
    assert torch.equal(batch.embedding, torch.tensor(
        [record["embedding"] for record in examples()[:4]]))
    assert batch.ids.offsets.tolist() == [0, 1, 3, 6, 10]


def test_transforms_by_field(shared_daemon):
    fields = {"embedding": "float32[8]", "ids": "int64[n]"}
    with open_records(EXAMPLES, fields=fields, transform={
            "embedding": T.Slice(2, 5), "ids": T.Slice(0, 1)}) as loader:
        batch = next(iter(loader))
    assert batch.embedding.shape == (4, 3)
    assert batch.ids.values.tolist() == [record["ids"][0]
                                         for record in examples()[:4]]


def test_ranks_share_the_records(shared_daemon):
    seen = []
    for rank in range(3):
        with open_records(EXAMPLES, fields=FIELDS, shuffle=True, rank=rank,
                          world_size=3, pad="none") as loader:
            seen += epoch(loader)
    assert sorted(seen) == list(range(10))


def test_an_epoch_goes_on_where_it_was_left(daemon):
    with open_records(EXAMPLES, fields=FIELDS, shuffle=True, batch_size=2) as loader:
        order = [number for batch in loader for number in batch.sample_ids.tolist()]
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        rest = epoch(batches)
    assert list(rest) == order[2:]
    with open_records(EXAMPLES, fields=FIELDS, shuffle=True, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert list(epoch(loader)) == order[2:]


def test_two_jobs_read_each_record_once(daemon, tmp_path, monkeypatch):
    payloads = [bytes([number % 256]) * 1000 for number in range(2000)]
    path = write(tmp_path / "train.tfrecord", payloads)

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    for seed in (1, 2):
        before = read_from_disk()
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_records(path, fields="bytes", batch_size=100, shuffle=True,
                          seed=seed) as loader:
            found = epoch(loader)
        assert all(found[number] == [payload]
                   for number, payload in enumerate(payloads))
        if seed == 2:
            assert read_from_disk() == before


def test_single_samples(shared_daemon):
    dataset = forebay.Dataset(
        forebay.tfrecord(EXAMPLES, fields=FIELDS), autostart=False)
    expected = examples()
    assert len(dataset) == 10
    for number in (0, 9, -1):
        assert is_example([numpy.asarray(value) if not isinstance(value, str)
                           else value for value in dataset[number]],
                          expected[number])


def test_an_index_is_kept(daemon, tmp_path):
    path = write(tmp_path / "a.tfrecord", [b"x" * number for number in range(500)])
    with open_records(path, fields="bytes") as loader:
        assert len(loader.dataset) == 500
    daemon.stop()
    daemon.start()
    with open_records(path, fields="bytes") as loader:
        found = epoch(loader)
    assert all(found[number] == [b"x" * number] for number in range(500))
