#!/usr/bin/python3
"""Makes the LMDB files of this folder, and what liblmdb reads in them.

Run it with a Python that has lmdb 3.0.0 (PyPI; liblmdb 0.9.36), and with gcc:
    python3 -m venv DIR && DIR/bin/pip install lmdb==3.0.0
    DIR/bin/python tests/golden/lmdb/make_golden.py
It writes beside itself; what unused pages hold differs each time. liblmdb makes
pages of the size that sysconf() tells: files named *_SIZE.mdb are written by a
process whose sysconf() is another.

golden.txt, as liblmdb reads it:
    file NAME PAGE_BYTES TRANSACTION
    database NAME?                         (of the file above; no name: unnamed)
    entry KEY? LENGTH CRC32                (of that database; CRC in hex)
Keys and names are percent-quoted. Databases that must be refused are not there:
those of dupsort_512.mdb, and the unnamed one of only_named_512.mdb.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import urllib.parse
import zlib

import lmdb

HERE = pathlib.Path(__file__).resolve().parent
MAP = 1 << 24
NAMES = [b"train", b"val", b"empty"]
PAGE_SIZE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
long sysconf(int name) {
  if (name == _SC_PAGESIZE) return atol(getenv("LMDB_PAGE_BYTES"));
  return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}
"""


def noise(size, seed):
    return random.Random(str(seed)).randbytes(size)


# Each writes one file. An environment is closed and its file kept by main().


def few(env):
    with env.begin(write=True) as txn:
        txn.put(b"image-00000001", noise(700, 1))
        txn.put(b"image-00000002", noise(299, 2))
        txn.put(b"\0\xff odd\n", b"one")
        txn.put(b"k" * 511, b"long key")
        txn.put(b"nothing", b"")
        txn.put("\u00fc".encode(), b"x")


def long_values(env):
    """Lengths around those from which on a value has pages of its own, and
    around whole pages."""
    page = env.stat()["psize"]
    inline = (page - 16) // 2 - 2 - 8 - 8
    with env.begin(write=True) as txn:
        for length in [*range(inline - 3, inline + 4), *range(page - 18, page - 13),
                       *range(2 * page - 17, 2 * page - 14), 5 * page, 1]:
            txn.put(b"%08d" % length, noise(length, length))


def deep(env):
    with env.begin(write=True) as txn:
        for i in range(1200):
            txn.put(b"%06d" % i, b"%d" % (i % 100), append=True)


def tall(env):
    keys = [b"%05d" % i * 20 for i in range(90)]
    random.Random(1).shuffle(keys)
    with env.begin(write=True) as txn:
        for key in keys:
            txn.put(key, key[:5])


def churn(env):
    rng = random.Random(2)
    keys = [b"%04x" % rng.getrandbits(16) + b"k" * rng.randrange(40)
            for _ in range(60)]
    for i in range(7):
        with env.begin(write=True) as txn:
            for key in rng.sample(keys, 30):
                length = rng.choice([3, 40, 100, 230, 500])
                txn.put(key, noise(rng.randrange(length), (i, key)))
            for key in rng.sample(keys, 15):
                txn.delete(key)
    with env.begin(write=True) as txn:
        txn.put(keys[0], b"aborted")
        txn.abort()


def compact(env):
    churn(env)
    with tempfile.TemporaryDirectory() as folder:
        env.copy(folder, compact=True)
        path = pathlib.Path(env.path()) / "compact.mdb"
        (pathlib.Path(folder) / "data.mdb").rename(path)


def written_map(env):
    with env.begin(write=True) as txn:
        for i in range(20):
            txn.put(b"%04d" % i, noise(i * 20, i))


def named(env):
    with env.begin(write=True) as txn:
        for name in NAMES:
            env.open_db(name, txn)
        for i in range(60):
            txn.put(b"%04d" % i, noise(i, i), db=env.open_db(b"train", txn))
        for i in range(3):
            txn.put(b"v%d" % i, noise(i * 300, i), db=env.open_db(b"val", txn))
        txn.put(b"__meta__", b"of the unnamed database")
        for i in range(30):
            txn.put(b"u%d" % i, noise(10, i))


def only_named(env):
    with env.begin(write=True) as txn:
        for i in range(10):
            database = env.open_db(b"part-%d" % i, txn)
            txn.put(b"key", b"%d" % i, db=database)
    with env.begin(write=True) as txn:
        database = env.open_db(b"whole numbers", txn, integerkey=True)
        for i in (3, 1 << 40, 256, 255):
            txn.put(i.to_bytes(8, "little"), b"%d" % i, db=database)
        database = env.open_db(b"from behind", txn, reverse_key=True)
        for key in (b"ab", b"ba", b"bb", b"aa"):
            txn.put(key, key, db=database)


def empty(env):
    del env


def emptied(env):
    written_map(env)
    with env.begin(write=True) as txn:
        for i in range(20):
            txn.delete(b"%04d" % i)


def dupsort(env):
    fixed = env.open_db(b"fixed", dupsort=True, dupfixed=True)
    several = env.open_db(b"several", dupsort=True)
    with env.begin(write=True) as txn:
        for i in range(200):
            txn.put(b"key", b"%04d" % i, db=fixed)
            txn.put(b"%d" % (i // 60), b"%d" % i, db=several)
        txn.put(b"key", b"value", db=env.open_db(b"plain", txn))


FILES = {
    "few.mdb": few, "few_2048.mdb": few, "empty.mdb": empty,
    "long_512.mdb": long_values, "deep_512.mdb": deep,
    "tall_512.mdb": tall, "churn_512.mdb": churn, "compact_512.mdb": compact,
    "map_512.mdb": written_map, "named_512.mdb": named,
    "only_named_512.mdb": only_named, "emptied_512.mdb": emptied,
    "dupsort_512.mdb": dupsort,
}


def write(name):
    with tempfile.TemporaryDirectory() as folder:
        options = {"map_size": MAP, "max_dbs": 16, "sync": False}
        if FILES[name] is written_map:
            options.update(map_size=16384, writemap=True)
        with lmdb.open(folder, **options) as env:
            FILES[name](env)
        path = pathlib.Path(folder) / "compact.mdb"
        if not path.exists():
            path = path.with_name("data.mdb")
        (HERE / name).write_bytes(path.read_bytes())


def write_by_page_size():
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "page_size.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o",
                        library], input=PAGE_SIZE, text=True, check=True)
        for name in FILES:
            size = re.search(r"_(\d+)\.mdb$", name)
            environment = dict(os.environ)
            if size:
                environment.update(LD_PRELOAD=str(library),
                                   LMDB_PAGE_BYTES=size[1])
            subprocess.run([sys.executable, __file__, name], env=environment,
                           check=True)


# The expected entries.


def quoted(name):
    return urllib.parse.quote(name, safe="/") + "?"


def is_database(env, txn, key):
    try:
        return bool(env.open_db(key, txn, create=False))
    except lmdb.Error:
        return False


def entries(env, txn, database):
    for key, value in txn.cursor(database):
        if database is None and is_database(env, txn, key):
            continue
        yield f"entry {quoted(key)} {len(value)} {zlib.crc32(value):08x}"


def expected(name):
    if name.startswith("dupsort"):
        return
    with lmdb.open(str(HERE / name), subdir=False, readonly=True, lock=False,
                   max_dbs=16) as env, env.begin() as txn:
        yield f"file {name} {env.stat()['psize']} {env.info()['last_txnid']}"
        if not name.startswith("only_named"):
            yield "database ?"
            yield from entries(env, txn, None)
        for key in list(txn.cursor().iternext(values=False)):
            if is_database(env, txn, key):
                yield f"database {quoted(key)}"
                yield from entries(env, txn, env.open_db(key, txn, create=False))


def main():
    if len(sys.argv) == 2:
        write(sys.argv[1])
        return
    for old in HERE.glob("*.mdb"):
        old.unlink()
    write_by_page_size()
    with open(HERE / "golden.txt", "w", encoding="ascii") as file:
        for name in sorted(FILES):
            for line in expected(name):
                print(line, file=file)


if __name__ == "__main__":
    main()
