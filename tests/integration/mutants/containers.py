"""Containers of samples: archives, tables and NumPy's files. Also how their own readers
and Forebay read them."""

import contextlib
import csv
import gzip
import io
import json
import pathlib
import re
import subprocess
import tarfile
import zipfile

import numpy

import forebay
from packed_files import tar_of

LONGEST = 500  # samples of a mutant that are compared
MOST_BYTES = 1 << 24


class Refused:
    """A sample that its reader refuses."""

    def __init__(self, error):
        self.error = f"{type(error).__name__}: {error}"[:200]

    def __repr__(self):
        return f"Refused({self.error})"


def attempt(read, *arguments):
    """Returns the result of a reader, or a Refused."""
    try:
        return read(*arguments)
    except Exception as error:
        return Refused(error)


def samples_until_error(samples):
    """Returns a list of the samples. If the iteration ends by an error, the last one is
    a Refused."""
    found = []
    try:
        for sample in samples:
            found.append(sample)
    except Exception as error:
        found.append(Refused(error))
    return found


class Container:
    """A format of containers.

    Attributes:
      file: the name of the file that is damaged.
      justified: the argument of comparison.Comparison.
      tolerated: the argument of comparison.Comparison.
      checked: whether checksums, or the format's rules, find any damage to values. A
        damaged file that is tolerated must then have the samples of the intact one.
    """

    file = ""
    justified = {}
    tolerated = {}
    checked = True

    def __init__(self):
        self.chance = numpy.random.RandomState(3)

    def originals(self):
        """Returns a dict of intact files' bytes by name."""
        raise NotImplementedError

    def write(self, folder, content):
        """Writes a mutant, and the other files of its dataset."""
        (folder / self.file).write_bytes(content)

    def read(self, folder):
        """Returns the samples as the format's own reader reads them: a list of tuples,
        and a Refused for each sample that the reader refuses."""
        raise NotImplementedError

    def open(self, folder):
        """Returns a forebay.Dataset of the container."""
        raise NotImplementedError


TEXTS = ["", "one", "two words", "Ünïcode", "x" * 300]


def members(count=5):
    chance = numpy.random.RandomState(4)
    for number in range(count):
        yield f"{number:04}.bin", chance.bytes(40 + 300 * number)
        yield f"{number:04}.cls", b"%d" % number
        yield f"{number:04}.txt", TEXTS[number % len(TEXTS)].encode()


NAME = re.compile(r"((?:.*/)?[^./]+)\.([^/]*)")


def webdataset_samples(tar):
    """Returns (bin, cls, txt) of a tar file's samples, grouped as webdataset does."""
    def decoded(sample):
        if None in sample.values():
            raise ValueError("two members of one name")
        return (sample["bin"], int(sample["cls"]), sample["txt"].decode())

    key, sample = None, {}
    for member in tar:
        named = NAME.fullmatch(member.name)
        if not member.isfile() or named is None:
            continue
        if named[1] != key and sample:
            yield attempt(decoded, sample)
            sample = {}
        key, extension = named[1], named[2].lower()
        content = tar.extractfile(member).read(MOST_BYTES)
        sample[extension] = None if extension in sample else content
    if sample:
        yield attempt(decoded, sample)


class Tar(Container):
    file = "a.tar"
    tolerated = {
        "KeyError": "tarfile takes padding of pax attributes for attributes",
    }
    justified = {
        "header checksum|is not a tar|no tar header|tar header":
            "tarfile takes a damaged header for the end of the archive",
        "has no|lacks|misses": "fields of samples are checked when a shard is opened",
        "trailing|end of|truncated|ends": "tarfile does not mind a missing end",
        "pax attributes": "tarfile passes over pax attributes that it cannot read",
    }

    def originals(self):
        return {"gnu": tar_of(members(), tarfile.GNU_FORMAT),
                "pax": tar_of([(f"{'long' * 40}/{name}", content)
                               for name, content in members(3)], tarfile.PAX_FORMAT),
                "ustar": tar_of(members(4), tarfile.USTAR_FORMAT)}

    def unpacked(self, path):
        return path.read_bytes()

    def read(self, folder):
        content = self.unpacked(folder / self.file)
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            return samples_until_error(webdataset_samples(tar))

    def open(self, folder):
        return forebay.Dataset(folder / self.file, fields=("bin", "cls", "txt"),
                               autostart=False)


class Gzipped(Container):
    """Containers of the next base class, compressed by gzip."""

    def originals(self):
        return {name: gzip.compress(content, mtime=0)
                for name, content in super().originals().items()}

    def unpacked(self, path):
        return gzip.decompress(path.read_bytes())


class TarGz(Gzipped, Tar):
    file = "a.tar.gz"


def zstd(content, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=content, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


class TarZstd(Tar):
    file = "a.tar.zst"

    def originals(self):
        return {name: zstd(content, "--check")
                for name, content in super().originals().items()}

    def unpacked(self, path):
        return zstd(path.read_bytes(), "-d")


class Zip(Container):
    """Class folders, whose images are not decoded."""

    file = "a.zip"
    justified = {
        "directory ends within|cannot have|is split|a NUL|before the dir|another fil":
            "zipfile takes what an entry says that contradicts the archive",
        "end record": "zipfile looks for the end record in more places",
        "is not supported": "methods that are not read",
        "damaged|checksum|deflated": "damage that zipfile does not look for",
    }

    def originals(self):
        made = {}
        for name, method in (("stored", zipfile.ZIP_STORED),
                             ("deflated", zipfile.ZIP_DEFLATED)):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", method) as archive:
                for number in range(4):
                    archive.writestr(f"{'ab'[number % 2]}/{number}.jpg",
                                     bytes(200) + self.chance.bytes(100))
            made[name] = packed.getvalue()
        return made

    def read(self, folder):
        with zipfile.ZipFile(folder / self.file) as archive:
            names = {name.rstrip("/") for name in archive.namelist()}
            images = sorted(name for name in names if name.lower().endswith(".jpg"))
            classes = sorted({name.split("/")[0] for name in images})
            images.sort(key=lambda name: (classes.index(name.split("/")[0]), name))
            return [attempt(lambda name=name: (archive.read(name),
                                               classes.index(name.split("/")[0])))
                    for name in images]

    def open(self, folder):
        return forebay.Dataset(folder / self.file, decode=False, autostart=False)


def saved(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


class Npy(Container):
    file = "a.npy"
    justified = {
        "behind its last row": "numpy takes no notice of what follows the rows",
        "is not supported|are not supported|order|big-endian|type":
            "arrays that are not read",
        "header": "numpy takes more forms of a header",
    }

    def originals(self):
        return {"numbers": saved(numpy.save, numpy.arange(50, dtype="int64")),
                "floats": saved(numpy.save, self.chance.rand(20, 3, 4).astype("f4")),
                "bytes": saved(numpy.save, self.chance.randint(0, 255, (9, 7), "u1"))}

    def read(self, folder):
        rows = numpy.load(folder / self.file, allow_pickle=False)
        if len(rows) > LONGEST:
            raise ValueError("more rows than any original has")
        return [(numpy.asarray(row),) for row in rows]

    def open(self, folder):
        return forebay.Dataset(folder / self.file, autostart=False)


class NpyFolder(Npy):
    """A folder of two files, one of which is damaged."""

    first = numpy.arange(24, dtype="float32").reshape(2, 3, 4)

    def originals(self):
        def of_version(version):
            file = io.BytesIO()
            numpy.lib.format.write_array(
                file, self.chance.rand(9, 3, 4).astype("f4"), (version, 0))
            return file.getvalue()
        return {**{f"version {number}": of_version(number) for number in (1, 2, 3)},
                "empty": saved(numpy.save, self.first[:0])}

    def write(self, folder, content):
        super().write(folder, content)
        numpy.save(folder / "0.npy", self.first)

    def read(self, folder):
        def array_of(path):
            array = numpy.load(path, allow_pickle=False)
            if (array.dtype, array.shape[1:]) != (self.first.dtype, (3, 4)):
                raise ValueError("an array unlike the first one")
            return array,
        return [attempt(array_of, folder / name) for name in ("0.npy", self.file)]

    def open(self, folder):
        return forebay.Dataset(forebay.npy_folder(folder), autostart=False)


class Npz(Container):
    file = "a.npz"
    justified = {**Zip.justified, **Npy.justified}

    def originals(self):
        rows = {"x": self.chance.rand(12, 5).astype("float32"),
                "y": numpy.arange(12, dtype="int32")}
        return {"stored": saved(numpy.savez, **rows),
                "deflated": saved(numpy.savez_compressed, **rows)}

    def read(self, folder):
        with numpy.load(folder / self.file, allow_pickle=False) as arrays:
            x, y = arrays["x"], arrays["y"]
        if len(x) != len(y):
            raise ValueError("arrays of different lengths")
        return [(numpy.asarray(a), numpy.asarray(b)) for a, b in zip(x, y)]

    def open(self, folder):
        return forebay.Dataset(folder / self.file, fields=("x", "y"), autostart=False)


class Table(Container):
    """A table of texts and files; the files are not decoded."""

    justified = {
        r"line \d+": "a table with a line that cannot be a sample is refused",
    }
    files = {f"{number}.jpg": b"photograph %d" % number for number in range(6)}

    def write(self, folder, content):
        super().write(folder, content)
        for name, photo in self.files.items():
            (folder / name).write_bytes(photo)

    def row(self, folder, row):
        path = row["image"]
        if not isinstance(path, str) or not isinstance(row["text"], str):
            raise TypeError("not a text")
        return (folder / path).read_bytes(), row["text"]

    def open(self, folder):
        return forebay.Dataset(forebay.manifest(folder / self.file, text="text"),
                               decode=False, autostart=False)


class Csv(Table):
    file = "a.csv"

    def originals(self):
        return {"csv": b"image,text\r\n" + b"".join(
            b'%s,"text, of ""%d"""\r\n' % (name.encode(), number)
            for number, name in enumerate(self.files))}

    def read(self, folder):
        with open(folder / self.file, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        return [attempt(self.row, folder, row) for row in rows]


class Jsonl(Table):
    file = "a.jsonl"

    def originals(self):
        return {"jsonl": "".join(
            json.dumps({"image": name, "text": f"text \"{number}\" é"}) + "\n"
            for number, name in enumerate(self.files)).encode()}

    def read(self, folder):
        lines = (folder / self.file).read_bytes().decode().split("\n")
        rows = [json.loads(line) for line in lines if line.strip()]
        return [attempt(self.row, folder, row) for row in rows]


def found_by_forebay(container, folder):
    """Returns Forebay's samples, and a Refused for each error.

    Raises:
      forebay.ForebayError: Forebay refuses the dataset.
    """
    dataset = container.open(folder)
    if len(dataset) > LONGEST:
        raise AssertionError(f"{len(dataset)} samples")
    found = []
    for number in range(len(dataset)):
        try:
            found.append(dataset[number])
        except (forebay.DataError, forebay.ResourceExhausted,
                forebay.Unsupported) as error:
            found.append(Refused(error))
    return found


def write_all(container, folder, files):
    """Writes mutants, each into a folder of its own, and returns the folders."""
    folders = []
    for name, content in files:
        folders.append(pathlib.Path(folder) / name)
        folders[-1].mkdir(parents=True)
        with contextlib.suppress(OSError):
            container.write(folders[-1], content)
    return folders
