"""Small files that have the names used in the documentation's code."""

import gzip
import io
import pathlib
import shutil
import wave
import zipfile

import h5py
import numpy
import torch

import array_record_files
import lmdb_files
import tfrecord_test
from several_images_test import part
from shards_test import npy, write_python_tar
from tiff_arrays_test import write_shard

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
SHARDS = 2  # number of files in a set of shards
RATE = 44_100  # sample rate of clips
LIBRARY = """
from torch.utils.data import DataLoader

loader = DataLoader(list(range(10)), batch_size=4)
"""
TRAINER = """
import argparse
import forebay
import numpy
import torch

class Photos(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        return numpy.full(3, number)

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args()
with forebay.DataLoader(Photos(), batch_size=4, num_workers=1) as loader:
    print(sum(batch.sum().item() for batch in loader))
"""


def write_all(folder, photos):
    """Writes the files below `folder`, which stands for "/data" and for each bucket."""
    images = [path.read_bytes() for path in sorted(photos.glob("*/*.jpg"))]
    shutil.copytree(photos, folder / "train")
    (folder / "train" / "cat").mkdir()
    (folder / "train" / "cat" / "1.jpg").write_bytes(images[0])
    shutil.copytree(GOLDEN / "mds" / "mixed", folder / "mds")
    _write_shards(folder, images)
    _write_records(folder, images)
    _write_arrays(folder)
    _write_clips(folder / "speech")
    lmdb_files.write(folder / "bedroom_train_lmdb", {
        b"%d" % number: image for number, image in enumerate(images)})
    (folder / "train.csv").write_text("a,b\n1,2\n")
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    torch.save(torch.zeros(2), folder / "model.pt")
    (folder / "library.py").write_text(LIBRARY)
    (folder / "train.py").write_text(TRAINER)


def _write_shards(folder, images):
    for number in range(SHARDS):
        write_python_tar(folder / f"{number:03}.tar",
                         _members(images, 200 + 10 * number))
        path = folder / f"{number:05}.tar"
        write_python_tar(path, _members(images, 200))
        for name in (f"{number:05}.tar.gz", f"{number:05}.tar.zst",
                     f"train-{number:05}.tgz"):
            shutil.copy(path, folder / name)
    tiff = (GOLDEN / "tiff_arrays" / "uint16.tif").read_bytes()
    write_shard(folder / "tiffs.tar", [{"tif": tiff, "cls": b"1"}])
    tfrecord_test.write(folder / "tiffs.tfrecord", [_example(
        {"image/encoded": tiff}, {"label": 1})])
    # The format is recognised by the bytes, not by the name.
    write_shard(folder / "clips.tar", [{"flac": _clip(6 * RATE)}])


def _members(images, length):
    array = npy((length, 3), "<f4")
    return [member for number, image in enumerate(images[:2]) for member in (
        (f"{number}.jpg", image), (f"{number}.cls", b"%d" % number),
        (f"{number}.npy", array), (f"{number}.npy.gz", gzip.compress(array)),
        (f"{number}.json.gz", gzip.compress(b"{}")))]


def _example(files, numbers):
    """Returns a tf.train.Example of files, and of numbers below 128."""
    features = {name: part(1, part(1, content)) for name, content in files.items()}
    for name, number in numbers.items():
        features[name] = part(3, part(1, bytes([number])))
    return part(1, b"".join(part(1, part(1, name.encode()) + part(2, feature))
                            for name, feature in features.items()))


def _write_records(folder, images):
    for name in ("train-0.tfrecord", "train-00000-of-01024"):
        tfrecord_test.write(folder / name, [
            _example({"image/encoded": image}, {"image/class/label": number})
            for number, image in enumerate(images)])
    array_record_files.write(folder / "train.array_record-00000-of-00128", [
        _example({"image": image}, {"label": number})
        for number, image in enumerate(images)])


def _write_arrays(folder):
    for number in range(SHARDS):
        with h5py.File(folder / f"train-{number:02}.h5", "w") as file:
            file["images"] = numpy.zeros((4, 224, 224, 3), "uint8")
            file["labels"] = numpy.arange(4)
    (numpy.arange(2000)).astype("uint16").tofile(folder / "train.bin")


def _write_clips(folder):
    for name in ("no", "yes"):
        (folder / name).mkdir(parents=True)
        for number in range(2):
            (folder / name / f"{number}.wav").write_bytes(_clip(30_000 + 1000 * number))


def _clip(frames):
    """Returns a WAV file of `frames` frames."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, RATE, 0, "NONE", ""))
        writer.writeframes(bytes(2 * frames))
    return file.getvalue()
