"""Reads an epoch of a container without Forebay: by torch's DataLoader over the
format's own reader, and torchvision."""

import glob
import io
import json
import multiprocessing
import struct
import sys
import time
import zipfile

import h5py
import numpy
import PIL.Image
import torch
import torchvision


class Records(torch.utils.data.Dataset):
    """Examples in TFRecord files, by the offsets of their records. Does less than the
    package tfrecord: verifies no checksums, and parses with protobuf."""

    def __init__(self, path, transform):
        self._transform = transform
        self._places = []
        for name in sorted(glob.glob(path)):
            with open(name, "rb") as file:
                offset = 0
                while header := file.read(12):
                    length, = struct.unpack("<Q", header[:8])
                    self._places.append((name, offset + 12, length))
                    offset += length + 16
                    file.seek(offset)

    def __len__(self):
        return len(self._places)

    def __getitem__(self, number):
        from example_messages import Example
        name, offset, length = self._places[number]
        with open(name, "rb") as file:
            file.seek(offset)
            features = Example.FromString(file.read(length)).features.feature
        image = PIL.Image.open(io.BytesIO(features["image"].bytes_list.value[0]))
        return (self._transform(image.convert("RGB")),
                features["label"].int64_list.value[0])


def array_record_reader(name):
    """Opens array_record's own reader as Grain's data source does."""
    import containers
    return containers.array_record_module().ArrayRecordReader(
        name, "readahead_buffer_size:0,max_parallelism:0")


def _array_records(name):
    return array_record_reader(name).num_records()


class ArrayRecords(torch.utils.data.Dataset):
    """Examples in ArrayRecord files, by array_record's own readers, one for each
    file."""

    def __init__(self, path, transform):
        self._transform = transform
        self._readers = {}  # the readers of this process
        names = sorted(glob.glob(path))
        # The reader crashes in processes whose parent has loaded it.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            counts = pool.map(_array_records, names)
        self._places = [(name, number) for name, count in zip(names, counts)
                        for number in range(count)]

    def _reader(self, name):
        if name not in self._readers:
            self._readers[name] = array_record_reader(name)
        return self._readers[name]

    def __len__(self):
        return len(self._places)

    def __getitem__(self, number):
        from example_messages import Example
        name, place = self._places[number]
        record, = self._reader(name).read([place])
        features = Example.FromString(record).features.feature
        image = PIL.Image.open(io.BytesIO(features["image"].bytes_list.value[0]))
        return (self._transform(image.convert("RGB")),
                features["label"].int64_list.value[0])


class Shards(torch.utils.data.Dataset):
    """Samples of MDS shards, each by two reads of its file, as MosaicML's MDSReader
    does. The package would cache whole shards, but these lie on this host already."""

    def __init__(self, path, transform):
        self._transform = transform
        self._places = []
        for name in sorted(glob.glob(path)):
            with open(name, "rb") as file:
                count, = struct.unpack("<I", file.read(4))
            self._places += [(name, number) for number in range(count)]

    def __len__(self):
        return len(self._places)

    def __getitem__(self, number):
        name, place = self._places[number]
        with open(name, "rb", 0) as file:
            file.seek(4 * (place + 1))
            begin, end = struct.unpack("<II", file.read(8))
            file.seek(begin)
            sample = file.read(end - begin)
        size, = struct.unpack_from("<I", sample)
        image = PIL.Image.open(io.BytesIO(sample[4:4 + size]))
        label, = struct.unpack_from("<q", sample, 4 + size)
        return self._transform(image.convert("RGB")), label


class Archive(torch.utils.data.Dataset):
    """Images in class folders of a zip archive, by zipfile, which each worker opens."""

    def __init__(self, path, transform):
        self._path, self._transform, self._archive = path, transform, None
        with zipfile.ZipFile(path) as archive:
            self._names = archive.namelist()

    def __len__(self):
        return len(self._names)

    def __getitem__(self, number):
        if self._archive is None:
            self._archive = zipfile.ZipFile(self._path)
        name = self._names[number]
        image = PIL.Image.open(io.BytesIO(self._archive.read(name)))
        return self._transform(image.convert("RGB")), int(name.partition("/")[0])


class Entries(torch.utils.data.Dataset):
    """Photographs in an LMDB environment, by py-lmdb. Each worker opens the
    environment, as users of py-lmdb do."""

    def __init__(self, path, transform):
        self._path, self._transform, self._environment = path, transform, None
        with self._open() as environment, environment.begin() as transaction:
            self._keys = list(transaction.cursor().iternext(values=False))

    def _open(self):
        from liblmdb import lmdb
        return lmdb.open(self._path, readonly=True, lock=False, readahead=False,
                         meminit=False)

    def __len__(self):
        return len(self._keys)

    def __getitem__(self, number):
        if self._environment is None:
            self._environment = self._open()
        key = self._keys[number]
        with self._environment.begin(buffers=True) as transaction:
            image = PIL.Image.open(io.BytesIO(transaction.get(key)))
            return self._transform(image.convert("RGB")), int(key[-4:])


class Photographs(torch.utils.data.Dataset):
    """JPEG files in HDF5 files, by h5py. Each worker opens the files once."""

    def __init__(self, path, transform):
        self._transform = transform
        self._files = {}
        self._places = []
        for name in sorted(glob.glob(path)):
            with h5py.File(name) as file:
                self._places += [(name, row) for row in range(len(file["label"]))]

    def __len__(self):
        return len(self._places)

    def __getitem__(self, number):
        name, place = self._places[number]
        if name not in self._files:
            self._files[name] = h5py.File(name)
        file = self._files[name]
        image = PIL.Image.open(io.BytesIO(file["image"][place]))
        return self._transform(image.convert("RGB")), int(file["label"][place])


class Chunks(torch.utils.data.Dataset):
    """Rows of an HDF5 file, by h5py."""

    def __init__(self, path, _):
        self._path = path
        self._file = None
        with h5py.File(path) as file:
            self._count = len(file["rows"])

    def __len__(self):
        return self._count

    def __getitem__(self, number):
        if self._file is None:
            self._file = h5py.File(self._path)
        return torch.from_numpy(self._file["rows"][number])


class Rows(torch.utils.data.Dataset):
    """Rows of a .npy file, by numpy.load's memory map."""

    def __init__(self, path, _):
        self._rows = numpy.load(path, mmap_mode="r")

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, number):
        return torch.from_numpy(numpy.array(self._rows[number]))


READERS = {
    "tfrecord": Records,
    "array_record": ArrayRecords,
    "mds": Shards,
    "zip": Archive,
    "lmdb": Entries,
    "hdf5": Photographs,
    "npy": Rows,
    "hdf5_rows": Chunks,
}


def measure(container, path, workers, batch_size=64):
    """Reads one shuffled epoch.

    Args:
      container: a key of READERS.
      path: the container's path, from containers.py.
      workers: num_workers.
      batch_size: samples in a batch.

    Returns:
      A dict of samples and seconds (from iter() to the last batch).
    """
    ops = torchvision.transforms
    dataset = READERS[container](path, ops.Compose([
        ops.RandomResizedCrop(224), ops.RandomHorizontalFlip(), ops.ToTensor()]))
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=batch_size, shuffle=True, num_workers=workers)
    samples = 0
    begin = time.monotonic()
    for batch in loader:
        samples += len(batch if torch.is_tensor(batch) else batch[0])
    return {"samples": samples, "seconds": time.monotonic() - begin}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
