#!/usr/bin/python3
"""Makes the HDF5 files of this folder, and what h5py reads in them.

Run it with a Python that has h5py 3.16.0 (PyPI; libhdf5 2.0.0):
    python3 -m venv DIR && DIR/bin/pip install h5py==3.16.0
    DIR/bin/python tests/golden/hdf5/make_golden.py
It writes beside itself. Files named *_LIBVER.h5 have metadata of that version.

golden.txt, as h5py reads it:
    file NAME
    column PATH ROWS BYTES CRC32    (of the file above; of all rows' values, one
                                     behind the other; CRC in hex. A path with *
                                     has each object's dataset as a row)
Elements are little-endian there, single integers but uint64 are int64, and texts
have no padding. Datasets that must be refused are not there: those of refused.h5
and shared_messages.h5.
"""

import ctypes
import pathlib
import zlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def noise(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype.newbyteorder("="),
                        endpoint=True).astype(dtype)


def ragged(dtype, lengths, seed):
    values = np.empty(len(lengths), object)
    for i, length in enumerate(lengths):
        values[i] = noise(length, dtype, (seed, i))
    return values


def rows(file):
    """Rows of all types that can be read."""
    n = 23
    file["images"] = noise((n, 6, 5, 3), "u1", 1)
    file["labels"] = noise(n, "i4", 2)
    for kind in ["i1", "u2", ">i2", "u4", ">u4", "i8", ">i8", "u8", "f2", "f4",
                 ">f4", "f8", ">f8"]:
        name = kind.replace(">", "big_")
        file[f"types/{name}"] = noise(n, kind, 3)
        file[f"types/rows_{name}"] = noise((n, 2, 3), kind, 4)
    file["types/bool"] = np.arange(n) % 3 == 0
    file["types/rows_bool"] = noise((n, 7), "u1", 5) > 99
    kind = h5py.enum_dtype({"red": 1, "green": 2, "blue": 42}, basetype="i2")
    file.create_dataset("types/enum", data=np.arange(n) % 2 + 1, dtype=kind)
    file["types/arrays"] = np.zeros(n, np.dtype(("f4", (2, 2))))
    file["texts/fixed"] = np.array([b"x" * (i % 6) for i in range(n)], "S5")
    tid = h5py.h5t.C_S1.copy()
    tid.set_size(6)
    space = h5py.h5s.create_simple((n,))
    made = h5py.h5d.create(file["texts"].id, b"terminated", tid, space)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL,
               np.array([b"yz" * (i % 3) for i in range(n)], "S6"), tid)
    file["texts/variable"] = ["\u00fc" * (i % 5) + str(i) for i in range(n)]
    file["texts/empty"] = [""] * n
    file["bytes/opaque"] = np.array([bytes([i] * 9) for i in range(n)], "V9")
    lengths = [int(i) for i in noise(n, "u1", 6) % 50]
    lengths[4] = 0
    lengths[7] = 5000  # more than a heap has room for
    for name, kind in [("variable", "u1"), ("floats", "f4")]:
        made = file.create_dataset(f"bytes/{name}", n, h5py.vlen_dtype(kind))
        made[:] = ragged(kind, lengths if kind == "u1" else (lengths[8:] * 2)[:n], 7)
    table = np.zeros(n, [("x", "f4"), ("name", "S4"), ("box", "<i2", (2, 2)),
                         ("id", ">u2")])
    table["x"] = noise(n, "f4", 8)
    table["box"] = noise((n, 2, 2), "i2", 9)
    table["id"] = noise(n, "u2", 10)
    table["name"] = [b"n%d" % i for i in range(n)]
    file["table"] = table
    file["named"] = np.dtype("f4")
    file.create_dataset("of_named", data=noise(n, "f4", 11), dtype=file["named"])
    for i in range(9):  # so that the header goes on elsewhere
        file["labels"].attrs[f"attribute {i}"] = i


def chunks(file):
    """Chunks with all filters, and where they lie."""
    n = 20
    data = (np.arange(n * 12, dtype="f4") // 5).reshape(n, 12)
    filters = {
        "plain": {},
        "gzip": {"compression": "gzip"},
        "shuffle": {"compression": "gzip", "shuffle": True},
        "lzf": {"compression": "lzf"},
        "lzf_shuffle": {"compression": "lzf", "shuffle": True},
        "fletcher32": {"fletcher32": True},
        "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    }
    shapes = {  # the largest shape decides which index a new file has
        "fixed": (n, 12), "first": (None, 12), "second": (n, None),
        "both": (None, None)}
    for shape, largest in shapes.items():
        for name, options in filters.items():
            if shape != "first" and name not in ("plain", "all"):
                continue
            file.create_dataset(f"{shape}/{name}", data=data, chunks=(7, 12),
                                maxshape=largest, **options)
            file.create_dataset(f"{shape}/{name}_parts", data=data,
                                chunks=(8, 5), maxshape=largest, **options)
    file.create_dataset("one/plain", data=data, chunks=(n, 12))
    file.create_dataset("one/gzip", data=data, chunks=(n, 12), compression="gzip")
    file.create_dataset("cubes", data=noise((n, 3, 4, 2), "i2", 1),
                        chunks=(9, 2, 3, 1), compression="gzip")
    part = file.create_dataset("fill/chunks", (n, 3), "i4", chunks=(4, 3),
                               fillvalue=-7)
    part[9:14] = noise((5, 3), "i4", 2)
    file.create_dataset("fill/nothing", (n, 3), "f8", fillvalue=2.5)
    file.create_dataset("fill/zeros", (n, 3), "f8", chunks=(5, 3))
    grown = file.create_dataset("grown", (0, 2), "u2", maxshape=(None, 2),
                                chunks=(3, 2), compression="gzip")
    for i in range(n):
        grown.resize(i + 1, 0)
        grown[i] = i, i + 1
    file.create_dataset("text", data=["row %d" % i for i in range(n)],
                        chunks=(6,), compression="gzip", dtype=h5py.string_dtype())
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((7, 12))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    made = h5py.h5d.create(file.id, b"early", h5py.h5t.IEEE_F32LE,
                           h5py.h5s.create_simple((n, 12)), early)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    made = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I16LE,
                           h5py.h5s.create_simple((n,)), compact)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(n, dtype="i2"))


def many(file):
    """More chunks than one block of an index has."""
    n = 1100 if file.libver[0] == "latest" else 150
    data = noise((n, 2), "u1", 1)
    file.create_dataset("fixed", data=data, chunks=(1, 2))
    file.create_dataset("first", data=data, chunks=(1, 2), maxshape=(None, 2))
    file.create_dataset("both", data=data[:140], chunks=(1, 1),
                        maxshape=(None, None))


def sparse(file):
    """Chunks that lie far apart in an index, of which most are not there."""
    n = 150000
    made = file.create_dataset("rows", (n,), "u1", chunks=(1,), maxshape=(None,),
                               fillvalue=3)
    for i in [0, 3, 4, 19, 20, 700, 40000, 131071, 131072, n - 1]:
        made[i] = i % 251


def groups(file):
    """Groups with many links, and links that are followed nowhere."""
    file["a/b/c/d"] = np.arange(5)
    for i in range(200):
        file[f"many/a name that takes some room {i:03}"] = file["a/b/c/d"]
    file["a/loop"] = file["/"]
    file["soft"] = h5py.SoftLink("/a/b/c/d")
    file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    file["hard"] = file["a/b/c/d"]


def small(file):
    """A little of all, to be damaged."""
    file["x"] = noise((6, 2), "u1", 1)
    file.create_dataset("y", data=np.arange(6, dtype="i4"), chunks=(2,),
                        maxshape=(None,), compression="gzip", shuffle=True,
                        fletcher32=True)
    file.create_dataset("z", data=noise((6, 3), "f4", 2), chunks=(2, 2))
    file.create_dataset("both", data=noise((6, 3), "u1", 3), chunks=(2, 3),
                        maxshape=(None, None), compression="lzf")
    made = file.create_dataset("jpg", 6, h5py.vlen_dtype("u1"))
    made[:] = ragged("u1", [3, 0, 5, 9, 1, 2], 4)
    file["group/text"] = [f"t{i}" for i in range(6)]
    table = np.zeros(6, [("a", "f4"), ("b", "S2")])
    table["a"] = np.arange(6)
    file["t"] = table


def samples(file):
    """A group for each sample."""
    for i in range(12):
        group = file.create_group(f"data/{i:02}")
        group["jpg"] = noise(i * 3 + 1, "u1", (1, i))
        group["opaque"] = np.void(bytes([i] * (i + 1)))
        group["label"] = np.int16(i)
        group["text"] = f"text {i}"
        group["box"] = noise((2, 2), "f4", (2, i))
        group.create_dataset("points", data=noise((i + 1, 3), "f4", (3, i)),
                             chunks=(4, 2) if i > 2 else None,
                             compression="gzip" if i % 2 and i > 2 else None,
                             maxshape=(None, 3) if i > 2 else None)
        group.create_dataset("filled", (3,), "i4", fillvalue=i, chunks=(2,))
        group["table"] = np.array((i, i / 2), [("a", "i4"), ("b", "f8")])


def rare(file):
    """Datasets as few write them."""
    n = 6
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((2, 2))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    made = h5py.h5d.create(file.id, b"room_to_grow", h5py.h5t.IEEE_F32LE,
                           h5py.h5s.create_simple((n, 4), (n, 9)), early)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(n * 4, dtype="f4").reshape(n, 4))
    # The shuffle has no parameters, and is left out of all chunks.
    file.create_dataset("shuffled_text", data=[f"row {i}" for i in range(n)],
                        chunks=(4,), compression="gzip", shuffle=True,
                        dtype=h5py.string_dtype())
    kind = np.dtype({"names": ["x", "y"], "formats": ["<i4", "<u2"],
                     "offsets": [0, 100], "itemsize": 4000})
    file.create_dataset("not_written", (n,), kind,
                        fillvalue=np.array((7, 513), kind))


def apart(file):
    """Rows of which chunks that lie far apart have parts."""
    n = 4
    packed, plain = noise((n, 900), "u2", 1), noise((n, 9000), "u1", 2)
    file.create_dataset("packed", packed.shape, "u2", chunks=(3, 300),
                        compression="gzip", shuffle=True)
    file.create_dataset("plain", plain.shape, "u1", chunks=(2, 4096))
    for part in range(3):
        columns = slice(300 * part, 300 * part + 300)
        file["packed"][:, columns] = packed[:, columns]
        columns = slice(4096 * part, 4096 * part + 4096)
        file["plain"][:, columns] = plain[:, columns]
        file.flush()
        if part < 2:
            file[f"between_{part}"] = np.zeros((2, 20000), "u1")


def shared(name):
    """Messages that objects share, which h5py cannot ask for: the second dataset
    has its fill value and its filters in a heap."""
    found = pathlib.Path(h5py.__file__).parents[1].glob("h5py.libs/libhdf5-*")
    libhdf5 = ctypes.CDLL(str(next(found)))
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    number = ctypes.c_int64(creation.id)
    fill_and_filters = 1 << 5 | 1 << 11
    assert libhdf5.H5Pset_shared_mesg_nindexes(number, ctypes.c_uint(1)) == 0
    assert libhdf5.H5Pset_shared_mesg_index(
        number, ctypes.c_uint(0), ctypes.c_uint(fill_and_filters),
        ctypes.c_uint(1)) == 0
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(str(HERE / name).encode(), h5py.h5f.ACC_TRUNC,
                                   creation, access)) as file:
        for dataset in "xyz":
            made = file.create_dataset(dataset, (8, 4), "i4", chunks=(2, 4),
                                       shuffle=dataset != "z",
                                       fillvalue=7 if dataset != "z" else None)
            made[:4] = np.arange(16).reshape(4, 4)


def refused(file):
    n = 6
    file["scalar"] = 5
    file["null"] = h5py.Empty("f4")
    file["references"] = np.array([file["scalar"].ref] * n, h5py.ref_dtype)
    file["complex"] = np.zeros(n, "c8")
    file["no_elements"] = np.zeros((n, 0), "f4")
    file["text_pairs"] = [["a", "b"]] * n
    file["nested"] = np.zeros(n, [("a", [("b", "f4")])])
    file.create_dataset("scaleoffset", data=np.arange(n), chunks=(2,), scaleoffset=0)
    file.create_dataset("parts", data=np.zeros((n, 40000), "u1"),
                        chunks=(2, 10000), compression="gzip")
    layout = h5py.VirtualLayout((n,), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "x", (n,))
    file.create_virtual_dataset("virtual", layout)
    file.create_dataset("external", (n,), "f4", external=[("other.raw", 0, 24)])
    file["rows"] = np.arange(n)


def value(one):
    """The bytes of a row."""
    if isinstance(one, str):
        return one.encode()
    if isinstance(one, bytes):
        return one
    one = np.asarray(one)
    if one.dtype.kind == "S":
        return one.item()
    if one.ndim == 0 and one.dtype.kind in "iu" and one.dtype != np.uint64:
        one = one.astype("i8")
    return one.astype(one.dtype.newbyteorder("<")).tobytes()


def columns(file):
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.dtype.names:
            found.update({f"{name}/{one}": item[()][one]
                          for one in item.dtype.names})
        elif isinstance(item, h5py.Dataset):
            found[name] = item[()]

    file.visititems(visit)
    if "data/00" not in file:
        return found
    groups = {}
    for name, data in found.items():
        _, _, rest = name.split("/", 2)
        groups.setdefault(f"data/*/{rest}", []).append(data)
    return groups


FILES = [(small, "earliest"), (small, "latest"),
         (samples, "earliest"), (samples, "latest"), (rows, "earliest"),
         (rows, "latest"), (chunks, "earliest"), (chunks, "latest"),
         (many, "earliest"), (many, "latest"), (sparse, "earliest"),
         (sparse, "latest"), (groups, "earliest"), (groups, "v108"),
         (groups, "latest"), (rare, "latest"), (apart, "latest")]


def main():
    lines = []
    for make, libver in FILES:
        name = f"{make.__name__}_{libver}.h5"
        block = 1024 if libver == "v108" else 0
        with h5py.File(HERE / name, "w", libver=libver, userblock_size=block) as file:
            make(file)
        lines.append(f"file {name}")
        with h5py.File(HERE / name) as file:
            for path, data in sorted(columns(file).items()):
                whole = b"".join(value(one) for one in data)
                lines.append(f"column {path.replace(' ', '%20')} {len(data)} "
                             f"{len(whole)} {zlib.crc32(whole):08x}")
    with h5py.File(HERE / "refused.h5", "w") as file:
        refused(file)
    shared("shared_messages.h5")
    (HERE / "golden.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
