#!/usr/bin/python3
"""Makes the tar shards of this folder, and what webdataset sees in them.

Run it with Debian's own python3 and GNU tar, and webdataset 1.0.2 (PyPI):
    pip install --target DIR --no-deps webdataset==1.0.2 braceexpand==0.1.7 pyyaml
    PYTHONPATH=DIR tests/golden/shards/make_golden.py
It writes beside itself; sparse and incremental shards come out a little different
each time. Names are percent-quoted, so that none has a blank.

golden.txt, by webdataset's own reader and grouping, offsets by tarfile:
    shard FILE
    sample KEY
    field EXTENSION OFFSET LENGTH CRC32    (of the sample above; CRC in hex)
    error KEY                              (in place of the rest of the shard)
names.txt, by the same: NAME? KEY? EXTENSION?, or NAME? if no sample has it.
braces.txt, by braceexpand: PATTERN? RESULT?...; or PATTERN? unbalanced
"""

import io
import os
import pathlib
import random
import subprocess
import tarfile
import tempfile
import urllib.parse
import zlib

import braceexpand
import numpy as np
import webdataset
from webdataset import tariterators

HERE = pathlib.Path(__file__).resolve().parent
SEED = 7
TIME = 1_600_000_000
# Not supported; and where tarfile takes GNU's times for a part of the name.
ASIDE = ("compressed", "sparse", "gnu_incremental")
TIMELESS = "--pax-option=delete=atime,delete=ctime"
LONG = "long-directory-name-" + "x" * 30  # two of them fill a header's name


def quoted(name):
    """A name of bytes or of what surrogateescape made of them."""
    raw = name if isinstance(name, bytes) else os.fsencode(name)
    return urllib.parse.quote(raw, safe="/")


def noise(size, seed):
    return random.Random(seed).randbytes(size)


# Shards


def member(name, data=b"", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mtime = kind, len(data), TIME
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def write_tar(name, members, form, **more):
    with tarfile.open(HERE / name, "w", format=form, **more) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))


def write_webdataset():
    with webdataset.TarWriter(str(HERE / "webdataset.tar"), mtime=TIME) as sink:
        for i in range(5):
            sink.write({
                "__key__": f"train/{i:06}",
                "jpg": noise(600 + 500 * i, i),
                "cls": i * 7 - 2,
                "json": {"caption": "\u00e9" * i, "box": [0.5, i]},
                "mask.npy": np.arange(2 * i, dtype="<u2").reshape(2, i)})
    with webdataset.TarWriter(str(HERE / "webdataset_long.tar"),
                              mtime=TIME) as sink:
        for i in range(3):
            sink.write({"__key__": f"{LONG}/{LONG}/{LONG}/\u00fc\u4e16{i}",
                        "PNG": noise(5, i), "txt": f"text {i}"})


def write_odd():
    write_tar("names.tar", [
        member("__index__", b"meta"), member("__a__/1.jpg", b"meta"),
        member("./1.jpg", b"one"), member("./1.CLS", b"1"),
        member("1.jpg", b"another"), member("README", b"no extension"),
        member("1.seg.Png", b"two dots"), member(".hidden.jpg", b"no key"),
        member("a.b/c", b"no extension"), member("a.b/c.d.e", b"dots"),
        member("a/.x.jpg", b"a key that ends with a slash"),
        member("2.jpg", b""), member("3.jpg", b"x" * 512),
        member("2.cls", b"not with the first"),
        member("3.__bad__", b"yes"), member("4.__bad__", b""),
        member("5.jpg", b"", tarfile.CONTTYPE),
        member("dir.jpg", b"", tarfile.DIRTYPE),
        member("6.jpg", b"", tarfile.SYMTYPE, linkname="2.jpg"),
        member("6.png", b"", tarfile.LNKTYPE, linkname="2.jpg", size=0),
        member("6.fifo", b"", tarfile.FIFOTYPE),
        member("6.odd", b"y" * 600, b"Q"), member("6.txt", b"end")],
        tarfile.USTAR_FORMAT)
    write_tar("global.tar", [member("1.jpg", b"1"), member("\u00e9" * 60 + ".jpg")],
              tarfile.PAX_FORMAT, pax_headers={"comment": "of all of them"})
    write_tar("duplicate.tar", [
        member("1.jpg", b"1"), member("2.jpg", b"2"), member("2.JPG", b"3")],
        tarfile.USTAR_FORMAT)
    write_tar("reserved.tar", [member("1.jpg", b"1"), member("1.__key__", b"2")],
              tarfile.USTAR_FORMAT)
    write_tar("nothing.tar", [], tarfile.USTAR_FORMAT)
    # There is nothing behind the last member, as if a writer was not closed.
    write_tar("unended.tar", [member("1.jpg", b"1"), member("1.cls", b"2")],
              tarfile.USTAR_FORMAT)
    with open(HERE / "unended.tar", "r+b") as file:
        file.truncate(4 * 512)


def write_gnu():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for i, stem in enumerate(["a/0001", "a/0002",
                                  f"{LONG}/{LONG}/0003"]):
            for extension in ("jpg", "cls", "left.png"):
                path = root / f"{stem}.{extension}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(noise(300 * (i + 1), stem + extension))
        deep = root / LONG / LONG / LONG
        deep.mkdir()
        (deep / ("n" * 120 + ".jpg")).write_bytes(b"long")
        os.symlink(f"{LONG}/{LONG}/{LONG}", root / LONG / "0002.link")
        os.link(root / "a" / "0001.jpg", root / "a" / "0009.jpg")
        os.mkfifo(root / "a" / "0002.pipe")
        with open(root / "sparse.npy", "wb") as file:
            file.truncate(1 << 20)
            file.seek(1 << 19)
            file.write(b"data")
        for path in sorted(root.rglob("*"), reverse=True):
            os.utime(path, (TIME, TIME + 0.5), follow_symlinks=False)
        tree = ["a", LONG]
        for form, names in (("v7", ["--exclude=*.pipe", "a"]),
                            ("ustar", ["a", f"{LONG}/{LONG}/0003.jpg"]),
                            ("gnu", tree), ("pax", tree), ("oldgnu", tree)):
            run_tar(root, f"gnu_{form}.tar", names, f"--format={form}",
                    *([TIMELESS] if form == "pax" else []))
        run_tar(root, "gnu_incremental.tar", tree, "--format=gnu",
                "--incremental")
        for version in ("0.0", "0.1", "1.0"):
            run_tar(root, f"sparse_{version}.tar", ["sparse.npy"],
                    "--format=pax", "--sparse", f"--sparse-version={version}")
        run_tar(root, "sparse_gnu.tar", ["sparse.npy"], "--format=gnu",
                "--sparse")
        run_tar(root, "compressed.tar", ["a"], "--gzip")


def run_tar(root, name, names, *arguments):
    subprocess.run(
        ["tar", "-c", "-b", "2", "-f", HERE / name, "--sort=name",
         "--owner=user:1", "--group=user:1",
         *arguments, *names], cwd=root, check=True)


def write_headers():
    """Headers of files too large to be here, as tarfile writes them."""
    for form, name in ((tarfile.GNU_FORMAT, "gnu"), (tarfile.PAX_FORMAT, "pax")):
        info = tarfile.TarInfo("large.jpg")
        info.size, info.mtime = 10 << 30, TIME
        (HERE / f"large_{name}.header").write_bytes(
            info.tobuf(form, "utf-8", "surrogateescape"))


# The expected samples.


def samples_of(path):
    """Yields the samples that webdataset makes of a shard; the error, if any,
    comes last."""
    opened = [{"url": str(path), "stream": open(path, "rb")}]
    files = tariterators.tar_file_expander(opened)
    try:
        yield from tariterators.group_by_keys(files)
    except ValueError as error:
        assert "duplicate file name" in str(error), error
        yield tariterators.base_plus_ext(error.args[0].split(":")[0])[0]
    opened[0]["stream"].close()


def offsets_of(path):
    """By key and extension, as often as they occur, in order."""
    found = {}
    with tarfile.open(path) as tar:
        for info in tar:
            key, extension = tariterators.base_plus_ext(info.name)
            if info.isreg() and key is not None:
                found.setdefault((key, extension.lower()), []).append(
                    info.offset_data)
    return found


def expected(path):
    yield f"shard {path.name}"
    offsets = offsets_of(path)
    for sample in samples_of(path):
        if isinstance(sample, str):
            yield f"error {quoted(sample)}"
            break
        yield f"sample {quoted(sample['__key__'])}"
        for extension, data in sample.items():
            if extension in ("__key__", "__url__"):
                continue
            offset = offsets[sample["__key__"], extension].pop(0)
            yield (f"field {quoted(extension)} {offset} {len(data)} "
                   f"{zlib.crc32(data):08x}")


def names():
    rng = random.Random(SEED)
    for alphabet in ("ab./", "a./", "a.A/_", "a./_\n", "\u00e9.\udcffZ"):
        for _ in range(60):
            yield "".join(rng.choices(alphabet, k=rng.randint(1, 8)))
    for first in ("__", "___", "____", "__a__", "__a.b__", "__a__b", "_a__",
                  "__a_", "__a__\n"):
        for rest in ("", ".jpg", "/1.jpg", "/__b__", "/__b__.jpg"):
            yield first + rest


def name_row(name):
    """By the real pipeline, fed with an archive of this one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        info, data = member(name, b"data")
        tar.addfile(info, io.BytesIO(data))
    buffer.seek(0)
    files = tariterators.tar_file_expander([{"url": "", "stream": buffer}])
    for sample in tariterators.group_by_keys(files):
        fields = sample.keys() - {"__key__", "__url__"}
        words = [name, sample["__key__"], *fields]
        return " ".join(quoted(word) + "?" for word in words)
    return quoted(name) + "?"


def patterns():
    yield from ("a", "", "train-{00000..00012}.tar", "{0..3}", "{07..10}",
                "{-2..2}", "{-02..2}", "{3..-3..2}", "{1..10..3}", "{1..5..0}",
                "{1..5..-2}", "{00..3}", "{a,b}", "{a,b,}", "{,a}", "{a}", "{}",
                "{{a,b}}", "x{a,b{1..3},c}y", "{a,b}{1,2}", "{1..2}-{3..4}.tar",
                "a{b", "a}b", "{a,{b}", r"\{a,b\}", r"{a\,b,c}", r"a\\b", "a\\",
                "{a..e}", "{e..a..2}", "{0..-0}", "{-0..2}", "{1..2..3..4}",
                "{ 1..2}", "{a,b}c}", "}{", "{a,b}}{", "{+1..2}", "{a..b,c}",
                "{1..1}", "{0001..2}", "{9..11}", "{x,{y,z},{1..2}}", "$x{a,b}")
    rng = random.Random(SEED)
    for _ in range(150):
        yield "".join(rng.choices(["{", "}", ",", "a", "\\", "1..3", "{b,c}"],
                                  k=rng.randint(2, 8)))


def brace_row(pattern):
    try:
        results = list(braceexpand.braceexpand(pattern))
    except braceexpand.UnbalancedBracesError:
        return quoted(pattern) + "? unbalanced"
    return " ".join([quoted(pattern) + "?",
                     *(quoted(result) + "?" for result in results)])


def main():
    for old in HERE.glob("*.tar"):
        old.unlink()
    write_webdataset()
    write_odd()
    write_gnu()
    write_headers()
    with open(HERE / "golden.txt", "w", encoding="ascii") as file:
        for path in sorted(HERE.glob("*.tar")):
            if not path.name.startswith(ASIDE):
                print(*expected(path), sep="\n", file=file)
    with open(HERE / "names.txt", "w", encoding="ascii") as file:
        print(*map(name_row, dict.fromkeys(names())), sep="\n", file=file)
    with open(HERE / "braces.txt", "w", encoding="ascii") as file:
        print(*map(brace_row, dict.fromkeys(patterns())), sep="\n", file=file)


if __name__ == "__main__":
    main()
