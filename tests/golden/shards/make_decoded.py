#!/usr/bin/python3
"""Makes decoded.tar and gzipped.tar, and decoded.json and gzipped.json: what
webdataset decodes them to.

Run it as make_golden.py beside it. The .json are lists of samples, each a
dict of the fields' values; of arrays the dtype, the shape and the items, of
bytes the hexadecimal digits, of images as of arrays.
"""

import gzip
import json
import pathlib

import numpy as np
import webdataset

HERE = pathlib.Path(__file__).resolve().parent
TIME = 1_600_000_000
FIELDS = ("png", "cls", "txt", "json", "npy", "bin", "left.index")


def samples():
    for i in range(5):
        image = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3) + i
        yield {
            "__key__": f"train/{i:03}",
            "png": image,
            "cls": 3 - 2 * i,
            "txt": "\u00e9\n" * i + "text",
            "json": {"caption": "\u4e16" * i, "box": [0.5, i, None],
                     "score": float("nan") if i == 2 else 1e300},
            "npy": (np.arange(6, dtype=np.float32) / 7 - i).reshape(2, 3),
            "bin": bytes(range(17 * i)),
            "left.index": i}


GZIPPED = ("txt.gz", "left.json.gz", "npy.gz", "cls.gz", "bin.gz", "gz", "cls")


def gzipped_samples():
    """Fields that the writer compresses, and one of no kind."""
    for i in range(5):
        yield {
            "__key__": f"train/{i:03}",
            "txt.gz": "\u00e9\n" * i * 100 + "text",
            "left.json.gz": {"box": [0.5, i, None]},
            "npy.gz": (np.arange(600, dtype=np.float32) // 7 - i).reshape(20, 30),
            "cls.gz": 3 - 2 * i,
            "bin.gz": bytes(range(17 * i)),
            "gz": gzip.compress(b"of no kind" * i, mtime=0),
            "cls": i}


def plain(value):
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "shape": value.shape,
                "items": value.ravel().tolist()}
    return value.hex() if isinstance(value, bytes) else value


def write(name, samples, fields):
    path = str(HERE / f"{name}.tar")
    with webdataset.TarWriter(path, mtime=TIME) as sink:
        for sample in samples:
            sink.write({key: sample[key] if key != "left.index" else
                        str(sample[key]).encode() for key in sample})
    decoded = webdataset.WebDataset(path).decode("rgb8", partial=True)
    found = [{key: plain(sample[key]) for key in fields} for sample in decoded]
    lines = ",\n".join(json.dumps(sample) for sample in found)
    (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def main():
    write("decoded", samples(), FIELDS)
    write("gzipped", gzipped_samples(), GZIPPED)


if __name__ == "__main__":
    main()
