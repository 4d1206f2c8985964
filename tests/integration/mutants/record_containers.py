"""Containers of records and arrays. Also how their own readers and Forebay read
them."""

import json
import pathlib
import struct
import tempfile
import zlib

import h5py
import numpy
from containers import (Container, Gzipped, Refused, attempt, samples_until_error,
                        zstd)

import forebay
from tfrecord_test import frame, masked

RECORDS = [numpy.random.RandomState(length).bytes(length)
           for length in (0, 1, 30, 700, 5, 90)]


def _from_file(name, write):
    """Returns the bytes of the file that `write(path)` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        write(path)
        return path.read_bytes()


class TfRecord(Container):
    """The reader is written here, from the format's description."""

    file = "a.tfrecord"

    def originals(self):
        return {"records": b"".join(map(frame, RECORDS))}

    def unpacked(self, path):
        return path.read_bytes()

    def read(self, folder):
        content = self.unpacked(folder / self.file)

        def records():
            at = 0
            while at < len(content):
                head = content[at:at + 12]
                if len(head) < 12 or masked(head[:8]) != head[8:]:
                    raise ValueError("a damaged length")
                size = struct.unpack("<Q", head[:8])[0]
                record = content[at + 12:at + 12 + size]
                crc = content[at + 12 + size:at + 16 + size]
                if len(record) < size or len(crc) < 4:
                    raise ValueError("a truncated record")
                if masked(record) == crc:
                    yield (record,)
                else:
                    yield Refused(ValueError("a damaged record"))
                at += 16 + size
        return samples_until_error(records())

    def open(self, folder):
        return forebay.Dataset(forebay.tfrecord(folder / self.file, fields="bytes"),
                               autostart=False)


class TfRecordGz(Gzipped, TfRecord):
    file = "a.tfrecord.gz"


class TfRecordZlib(TfRecord):
    justified = {
        "not compressed lies behind": "zlib takes no notice of what follows its data",
    }

    def originals(self):
        return {name: zlib.compress(content)
                for name, content in super().originals().items()}

    def unpacked(self, path):
        return zlib.decompress(path.read_bytes())


class TfRecordZstd(TfRecord):
    file = "a.tfrecord.zst"

    def originals(self):
        return {name: zstd(content, "--check")
                for name, content in super().originals().items()}

    def unpacked(self, path):
        return zstd(path.read_bytes(), "-d")


class ArrayRecord(Container):
    file = "a.array_record"
    tolerated = {
        "not an ArrayRecord file":
            "headers of blocks, which Forebay steps over, bear on no record",
    }

    def originals(self):
        from array_record_files import write
        return {options: _from_file("a", lambda path, options=options: write(
                    path, RECORDS * 3, options))
                for options in ("group_size:1", "group_size:4,uncompressed",
                                "group_size:4,brotli")}

    def read(self, folder):
        from array_record_files import module
        reader = module.ArrayRecordReader(str(folder / self.file))
        if not reader.ok():
            raise ValueError("not an ArrayRecord file")
        return samples_until_error(
            (reader.read([number])[0],) for number in range(reader.num_records()))

    def open(self, folder):
        return forebay.Dataset(
            forebay.array_record(folder / self.file, fields="bytes"), autostart=False)


class Lmdb(Container):
    file = "data.mdb"
    justified = {
        "is truncated": "liblmdb reads zeros behind the end of the file",
        "page": "liblmdb trusts what pages say of themselves",
    }
    tolerated = {
        "Located page was wrong type":
            "the headers of pages that hold nothing but a long value are not read",
    }
    checked = False

    def originals(self):
        from lmdb_files import noise, write
        return {"few": self._compact(lambda path: write(path, noise(20))),
                "long": self._compact(lambda path: write(path, noise(
                    8, longest=9000, seed=2)))}

    def _compact(self, write):
        def written(path):
            from lmdb_files import lmdb
            write(path / "from")
            (path / "to").mkdir()
            with lmdb.open(str(path / "from"), readonly=True, lock=False) as env:
                env.copy(str(path / "to"), compact=True)
        with tempfile.TemporaryDirectory() as folder:
            written(pathlib.Path(folder))
            return (pathlib.Path(folder) / "to" / self.file).read_bytes()

    def read(self, folder):
        from lmdb_files import entries_of
        return [(value,) for _, value in entries_of(folder)]

    def open(self, folder):
        return forebay.Dataset(forebay.lmdb(folder, fields="bytes"), autostart=False)


class Hdf5(Container):
    file = "a.h5"
    justified = {
        "contradicts itself|is damaged": "damage that HDF5 does not look for",
        "marked as open": "flags of a writer, which h5py does not look at",
    }
    tolerated = {
        "addr overflow": "HDF5 reads also the unused parts of tables",
    }

    def originals(self):
        def write(path, libver, **options):
            with h5py.File(path, "w", libver=libver) as file:
                file.create_dataset(
                    "images", data=self.chance.randint(0, 255, (10, 4, 5), "uint8"),
                    **options)
                file["labels"] = numpy.arange(10, dtype="int32")
                file["names"] = [f"row {number}" for number in range(10)]
        return {
            "earliest": _from_file("a", lambda path: write(path, "earliest")),
            "latest": _from_file("a", lambda path: write(path, "latest")),
            "chunks": _from_file("a", lambda path: write(
                path, "earliest", chunks=(3, 4, 5), compression="gzip")),
            "checked": _from_file("a", lambda path: write(
                path, "latest", chunks=(3, 4, 5), fletcher32=True, shuffle=True))}

    def read(self, folder):
        with h5py.File(folder / self.file, "r", locking=False) as file:
            images, labels, names = (file[name][:]
                                     for name in ("images", "labels", "names"))
        if images.ndim != 3 or labels.ndim != 1 or names.ndim != 1 or len(
                {len(images), len(labels), len(names)}) != 1:
            raise ValueError("arrays that do not fit")
        return [(image, label.item(), name.decode())
                for image, label, name in zip(images, labels, names)]

    def open(self, folder):
        return forebay.Dataset(folder / self.file, autostart=False,
                               fields=("images", "labels", "names"))


class Mds(Container):
    """The reader is written here, because MosaicML's is not installed."""

    file = "shard.00000.mds"
    justified = {
        "is truncated|is damaged|is not an MDS|configuration|the sample|behind it":
            "MosaicML's reader does not compare a shard's parts",
        "there is no column|cannot be read": "the reader has columns from index.json",
    }
    columns = {"names": ["label", "raw", "text"], "sizes": [8, None, None],
               "encodings": ["int", "bytes", "str"]}

    def _index(self, size, count):
        return {"version": 2, "shards": [{
            "column_encodings": self.columns["encodings"],
            "column_names": self.columns["names"],
            "column_sizes": self.columns["sizes"], "compression": None,
            "format": "mds", "hashes": [], "samples": count, "size_limit": 1 << 26,
            "raw_data": {"basename": self.file, "bytes": size, "hashes": {}},
            "version": 2, "zip_data": None}]}

    def originals(self):
        samples = []
        for number, raw in enumerate(RECORDS):
            text = f"text {number}".encode()
            samples.append(struct.pack("<IIq", len(raw), len(text), number) +
                           raw + text)
        shard = dict(self._index(0, 0)["shards"][0])
        config = json.dumps({key: shard[key] for key in (
            "column_encodings", "column_names", "column_sizes", "compression",
            "format", "hashes", "size_limit", "version")}, sort_keys=True).encode()
        offsets = numpy.cumsum([0, *map(len, samples)]) + 4 * (
            len(samples) + 2) + len(config)
        return {"shard": struct.pack("<I", len(samples)) + offsets.astype(
            "<u4").tobytes() + config + b"".join(samples)}

    def write(self, folder, content):
        super().write(folder, content)
        (folder / "index.json").write_text(
            json.dumps(self._index(len(content), len(RECORDS))))

    def read(self, folder):
        content = (folder / self.file).read_bytes()

        def sample(number):
            begin, end = struct.unpack_from("<II", content, 4 * (1 + number))
            data = content[begin:end]
            sizes = struct.unpack_from("<II", data)
            label, = struct.unpack_from("<q", data, 8)
            raw = data[16:16 + sizes[0]]
            text = data[16 + sizes[0]:16 + sum(sizes)]
            return label, raw, text.decode()

        return [attempt(sample, number) for number in range(len(RECORDS))]

    def open(self, folder):
        return forebay.Dataset(folder, fields=("label", "raw", "text"),
                               autostart=False)


class MegatronIndex(Container):
    """The reader is written here, because Megatron-LM's is not installed."""

    file = "a.idx"
    justified = {
        "is truncated or damaged": "the reader takes no notice of bytes behind its own",
        "sequence|document|tokens": "the reader does not compare the two files",
    }
    lengths = (5, 1, 9, 4)
    tokens = numpy.arange(sum(lengths), dtype="uint16")

    def originals(self):
        lengths = numpy.array(self.lengths, "<i4")
        pointers = 2 * numpy.cumsum([0, *self.lengths[:-1]]).astype("<i8")
        return {"idx": b"MMIDIDX\0\0" + struct.pack(
            "<QBQQ", 1, 8, len(lengths), len(lengths) + 1) + lengths.tobytes() +
            pointers.tobytes() + numpy.arange(len(lengths) + 1, dtype="<i8").tobytes()}

    def write(self, folder, content):
        super().write(folder, content)
        (folder / "a.bin").write_bytes(self.tokens.tobytes())

    def read(self, folder):
        content = (folder / self.file).read_bytes()
        version, code, sequences, documents = struct.unpack_from("<QBQQ", content, 9)
        types = {1: "u1", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 8: "u2"}
        if content[:9] != b"MMIDIDX\0\0" or version != 1:
            raise ValueError("not an index")
        at = 9 + 25
        lengths = numpy.frombuffer(content, "<i4", sequences, at)
        pointers = numpy.frombuffer(content, "<i8", sequences, at + 4 * sequences)
        ends = numpy.frombuffer(content, "<i8", documents, at + 12 * sequences)
        whole = (folder / "a.bin").read_bytes()
        found = []
        for first, last in zip(ends, ends[1:]):
            parts = [numpy.frombuffer(whole, types[code], lengths[i], pointers[i])
                     for i in range(first, last)]
            if sum(map(len, parts)):
                found.append((numpy.concatenate(parts),))
        return found

    def open(self, folder):
        return forebay.Dataset(forebay.tokens(folder / "a.bin", length=None),
                               autostart=False)
