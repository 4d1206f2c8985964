#!/usr/bin/python3
"""Makes the zip archives of this folder, and what Python's zipfile sees in them.

Run it with Debian's own python3, python3-numpy, and zip (Info-ZIP 3.0); it writes
beside itself. Archives of zip come out a little different each time.

golden.txt, by zipfile; names are percent-quoted:
    archive FILE BASE                      (FILE lies at byte BASE of the archive)
    member NAME METHOD HEADER DATA COMPRESSED LENGTH CRC32 SHA256
                                           (of the archive above; directories are
                                           left out; CRC and SHA in hex)
"""

import hashlib
import io
import os
import pathlib
import random
import subprocess
import tempfile
import unittest.mock
import urllib.parse
import warnings
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TIME = 1_600_000_000
DATE = (2020, 9, 13, 12, 26, 40)
# Our reader refuses these archives; the tests say why.
ASIDE = ("bzip2", "lzma", "infozip_encrypted", "infozip_bzip2", "infozip_split")
PREFIX = b"#!/bin/sh\nexit 0\n" * 7
# zipfile itself takes the comment for the end record.
SIGNATURE_COMMENT = b"one PK\5\6, and another PK\5\6" + b"\1" * 30
BASE = 5 << 30


def noise(size, seed):
    return random.Random(seed).randbytes(size)


FILES = {
    "a.txt": b"hello, hello, hello, hello, hello, hello\n",
    "a/noise.bin": noise(700, 1),
    "a/b/zeros.bin": bytes(20000),
    "empty": b"",
}


# Archives


class Pipe(io.RawIOBase):
    """A stream that cannot seek."""

    def __init__(self, sink):
        self._sink = sink

    def writable(self):
        return True

    def write(self, data):
        return self._sink.write(data)


class Cp437Info(zipfile.ZipInfo):
    """A member whose name is written as DOS did."""

    def _encodeFilenameFlags(self):
        return self.filename.encode("cp437"), self.flag_bits


def member(name, method, kind=zipfile.ZipInfo, **more):
    info = kind(name, DATE)
    info.compress_type = method
    for key, value in more.items():
        setattr(info, key, value)
    return info


def add_files(archive, method, files=None):
    for name, data in (files or FILES).items():
        archive.writestr(member(name, method), data)


def write_plain():
    methods = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED,
               "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
    for name, method in methods.items():
        with zipfile.ZipFile(HERE / f"{name}.zip", "w") as archive:
            add_files(archive, method)
    with zipfile.ZipFile(HERE / "empty.zip", "w"):
        pass
    with zipfile.ZipFile(HERE / "directories.zip", "w") as archive:
        for name in ("d/", "d/e/", "d/e/f.txt", "g/"):
            archive.writestr(member(name, zipfile.ZIP_DEFLATED),
                             b"" if name.endswith("/") else b"file")
    # Its directory is longer than what is read of the end at first.
    with zipfile.ZipFile(HERE / "many.zip", "w") as archive:
        for i in range(90):
            archive.writestr(member(f"some/folder/{i:04}.cls", zipfile.ZIP_STORED),
                             str(i))
    np.savez(HERE / "savez.npz", x=np.arange(6, dtype="<f4").reshape(2, 3),
             y=np.array([1, 0], dtype="|u1"))
    np.savez_compressed(HERE / "savez_compressed.npz",
                        x=np.zeros((20, 30), dtype="<i8"))


def write_names():
    with zipfile.ZipFile(HERE / "names.zip", "w") as archive:
        for name in ("\u00e4.txt", "\u4e16/\u754c.txt", "with blank", "../up",
                     "/root", "back\\slash", "x" * 300):
            archive.writestr(member(name, zipfile.ZIP_STORED), name.encode())
        archive.writestr(member("caf\u00e9.txt", zipfile.ZIP_STORED, Cp437Info),
                         b"as DOS has it")
        for data in (b"first", b"second"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # says that there are two
                archive.writestr(member("twice", zipfile.ZIP_STORED), data)
        # Padding as zipalign writes it, and a field of no known kind.
        archive.writestr(member("extra", zipfile.ZIP_STORED,
                                extra=b"\xfe\xca\3\0abc" + bytes(3),
                                comment=b"of the member"), b"extra")


def write_comments():
    for name, comment in (("comment", b"a comment"),
                          ("comment_signature", SIGNATURE_COMMENT)):
        with zipfile.ZipFile(HERE / f"{name}.zip", "w") as archive:
            add_files(archive, zipfile.ZIP_DEFLATED)
            archive.comment = comment


def write_streamed():
    """The lengths and the CRC lie behind the data."""
    with open(HERE / "streamed.zip", "wb") as file:
        with zipfile.ZipFile(Pipe(file), "w") as archive:
            add_files(archive, zipfile.ZIP_DEFLATED)
            add_files(archive, zipfile.ZIP_STORED, {"stored": b"stored"})


def write_zip64():
    with zipfile.ZipFile(HERE / "zip64_members.zip", "w") as archive:
        for name, data in FILES.items():
            with archive.open(member(name, zipfile.ZIP_DEFLATED), "w",
                              force_zip64=True) as file:
                file.write(data)
    # zipfile writes ZIP64 fields for numbers above these limits.
    with unittest.mock.patch.object(zipfile, "ZIP64_LIMIT", 600), \
            unittest.mock.patch.object(zipfile, "ZIP_FILECOUNT_LIMIT", 2):
        for name in ("zip64", "zip64_comment"):
            with zipfile.ZipFile(HERE / f"{name}.zip", "w") as archive:
                add_files(archive, zipfile.ZIP_DEFLATED)
                archive.comment = b"" if name == "zip64" else bytes(4090)
    plain = (HERE / "zip64.zip").read_bytes()
    (HERE / "zip64_prefixed.zip").write_bytes(PREFIX + plain)


def write_prefixed():
    (HERE / "prefixed.zip").write_bytes(
        PREFIX + (HERE / "deflated.zip").read_bytes())
    # The writer saw the prefix, and counted it.
    with open(HERE / "counted_prefix.zip", "wb") as file:
        file.write(PREFIX)
        with zipfile.ZipFile(file, "w") as archive:
            add_files(archive, zipfile.ZIP_DEFLATED)


def write_large():
    """The last part of an archive larger than 4 GiB."""
    with tempfile.TemporaryFile() as file:
        file.seek(BASE)
        with zipfile.ZipFile(file, "w") as archive:
            add_files(archive, zipfile.ZIP_DEFLATED)
        yield "large.tail", BASE, file
        file.seek(BASE)
        (HERE / "large.tail").write_bytes(file.read())


# Archives of Info-ZIP


def run_zip(root, name, arguments, names, **more):
    return subprocess.run(["zip", "-q", *arguments, name, *names], cwd=root,
                          check=True, env=dict(os.environ, TZ="UTC"), **more)


def write_infozip():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, data in {**FILES, "\u00fc.txt": b"u",
                           "split": noise(66_000, 2)}.items():
            path = root / "t" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for path in sorted(root.rglob("*"), reverse=True):
            os.utime(path, (TIME, TIME))
        tree = ["t/a.txt", "t/a", "t/a/noise.bin", "t/a/b/zeros.bin", "t/empty",
                "t/\u00fc.txt"]
        for name, arguments in (("plain", []), ("bare", ["-X", "-D"]),
                                ("zip64", ["-fz"]),
                                ("bzip2", ["-Z", "bzip2"]),
                                ("encrypted", ["-P", "secret"])):
            run_zip(root, HERE / f"infozip_{name}.zip", arguments, tree)
        # To a pipe; and from one, too, so that not even lengths were known.
        for name, names, given in (("streamed", tree, b""), ("piped", ["-"], b"1")):
            written = run_zip(root, "-", [], names, input=given,
                              stdout=subprocess.PIPE)
            (HERE / f"infozip_{name}.zip").write_bytes(written.stdout)
        # Offsets are put right for the prefix.
        adjusted = root / "adjusted.zip"
        adjusted.write_bytes((HERE / "prefixed.zip").read_bytes())
        subprocess.run(["zip", "-q", "-A", adjusted], check=True)
        (HERE / "infozip_adjusted.zip").write_bytes(adjusted.read_bytes())
        run_zip(root, root / "split.zip", ["-0", "-s", "64k"], ["t/split"])
        (HERE / "infozip_split.zip").write_bytes(
            (root / "split.zip").read_bytes())


# The expected members


def expected(name, base, file):
    yield f"archive {name} {base}"
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            utf8 = info.flag_bits & 0x800
            raw = info.orig_filename.encode("utf-8" if utf8 else "cp437")
            method = {0: "stored", 8: "deflated"}[info.compress_type]
            with archive.open(info) as content:
                data = content._orig_compress_start
                digest = hashlib.sha256(content.read()).hexdigest()
            yield (f"member {urllib.parse.quote(raw, safe='/')} {method} "
                   f"{info.header_offset} {data} {info.compress_size} "
                   f"{info.file_size} {info.CRC:08x} {digest}")


def readable(path):
    """The archive, without the comment that zipfile cannot read."""
    content = path.read_bytes()
    if content.endswith(SIGNATURE_COMMENT):
        content = content[:-len(SIGNATURE_COMMENT) - 2] + b"\0\0"
    return io.BytesIO(content)


def main():
    for old in [*HERE.glob("*.zip"), *HERE.glob("*.npz"), *HERE.glob("*.tail")]:
        old.unlink()
    write_plain()
    write_names()
    write_comments()
    write_streamed()
    write_zip64()
    write_prefixed()
    write_infozip()
    with open(HERE / "golden.txt", "w", encoding="ascii") as file:
        for path in sorted([*HERE.glob("*.zip"), *HERE.glob("*.npz")]):
            if path.stem not in ASIDE:
                print(*expected(path.name, 0, readable(path)), sep="\n", file=file)
        for large in write_large():
            print(*expected(*large), sep="\n", file=file)


if __name__ == "__main__":
    main()
