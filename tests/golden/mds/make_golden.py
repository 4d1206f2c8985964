"""Writes MDS shards with MosaicML's streaming, and what its reader reads in them.

Needs mosaicml-streaming and what its writer imports; run it in this folder:
python3 make_golden.py

golden.json has, for each folder, a list of samples: a dict of each column's value;
of arrays the dtype, the shape and the items, of bytes and images base64.
"""

import base64
import io
import json
import pathlib
import shutil
import sys
import types

import numpy
import PIL.Image

HERE = pathlib.Path(__file__).parent
PHOTOS = [HERE.parent / "decode" / f"420_{size}.jpg"
          for size in ("17x7", "33x16", "5x5", "7x17")]
CLIPS = [HERE.parent / "audio" / name
         for name in ("1_s8.flac", "1_s16.wav", "1_cbr.mp3", "1_vorbis.ogg")]
CHANCE = numpy.random.RandomState(7)


def streaming_format():
    """The modules that write and read MDS, without all else of the package."""
    found = next(pathlib.Path(place) / "streaming" for place in sys.path
                 if (pathlib.Path(place) / "streaming" / "base").is_dir())
    for name in ("", ".base", ".base.format", ".base.format.base",
                 ".base.format.mds"):
        module = types.ModuleType("streaming" + name)
        module.__path__ = [str(found) + name.replace(".", "/")]
        sys.modules["streaming" + name] = module
    from streaming.base.format.mds.reader import MDSReader
    from streaming.base.format.mds.writer import MDSWriter
    return MDSWriter, MDSReader


def mixed(number):
    return {
        "photo": PIL.Image.open(PHOTOS[number % len(PHOTOS)]),
        "label": number * 1000 - 3,
        "digits": 10 ** number,
        "text": f"text {number} é",
        "raw": bytes(range(number)),
        "box": numpy.float32(CHANCE.rand(4)).reshape(2, 2),
        "tokens": CHANCE.randint(0, 50000, number % 4 + 1).astype("int32"),
        "series": CHANCE.randn(number % 3 + 1, 3).astype("float64"),
        "any": CHANCE.randint(0, 9, number + 1).astype("uint16"),
        "score": numpy.float32(number / 3),
        "data": {"a": [number, None]},
    }


MIXED = {"photo": "jpeg", "label": "int", "digits": "str_int", "text": "str",
         "raw": "bytes", "box": "ndarray:float32:2,2", "tokens": "ndarray:int32",
         "series": "ndarray:float64", "any": "ndarray", "score": "float32",
         "data": "json"}


def plain(value):
    if isinstance(value, PIL.Image.Image):
        value = value.fp.getvalue() if isinstance(value.fp, io.BytesIO) else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, numpy.ndarray):
        return {"dtype": value.dtype.name, "shape": value.shape,
                "items": value.ravel().tolist()}
    return value.item() if isinstance(value, numpy.generic) else value


def write(name, columns, samples, **options):
    """Returns what the reader reads in all shards."""
    place = HERE / name
    shutil.rmtree(place, ignore_errors=True)
    writer_type, reader_type = streaming_format()
    with writer_type(out=str(place), columns=columns, **options) as writer:
        for sample in samples:
            writer.write(sample)
    if "compression" in options:
        return []
    index = json.loads((place / "index.json").read_text())
    found = []
    for shard in index["shards"]:
        reader = reader_type.from_json(str(place), "", shard)
        found += [{column: plain(value) for column, value in reader[number].items()}
                  for number in range(shard["samples"])]
    return found


def main():
    golden = {
        "mixed": write("mixed", MIXED, map(mixed, range(12)), size_limit=6000),
        "unsafe": write("unsafe", {"label": "int", "object": "pkl"},
                        ({"label": number, "object": [number]}
                         for number in range(3))),
        "sounds": write("sounds", {"sound": "bytes", "photo": "bytes", "label": "int"},
                        ({"sound": clip.read_bytes(), "photo": photo.read_bytes(),
                          "label": number}
                         for number, (clip, photo) in enumerate(zip(CLIPS, PHOTOS)))),
        "compressed": write("compressed", {"text": "str"}, [{"text": "a" * 100}] * 9,
                            compression="zstd:3"),
    }
    (HERE / "golden.json").write_text(json.dumps(golden, indent=0) + "\n")


if __name__ == "__main__":
    main()
