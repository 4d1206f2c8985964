#!/usr/bin/python3
"""Makes small .npy files, and says how Python and NumPy read small fields.

Run it with Debian's own python3 and python3-numpy; it writes beside itself.

npy.txt: FILE KIND ITEM_BYTES BIG_ENDIAN FORTRAN_ORDER DATA_OFFSET DATA_BYTES
         EXTENT..., or FILE error
integers.txt: the hexadecimal bytes, and int() of them or "error"
texts.txt: the hexadecimal bytes, and where they are not UTF-8, or "ok"
Empty bytes are "-".
"""

import io
import itertools
import pathlib
import random

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SEED = 5
HEADER = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }"


def saved(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def written(text, data=b"\0" * 64, version=1):
    """A file with a header of one's own."""
    text = text.encode("latin1")
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def arrays():
    for code in ("?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8",
                 "<f2", "<f4", "<f8", "<c8", "<c16", ">i2", ">f4", ">u8"):
        name = np.dtype(code).name + ("_big" if code[0] == ">" else "")
        yield name, saved(np.zeros((2, 3), dtype=code))
    yield "scalar", saved(np.float32(1))
    yield "one_dimension", saved(np.arange(5, dtype="<i4"))
    yield "four_dimensions", saved(np.zeros((1, 2, 3, 1), dtype="u1"))
    yield "fortran", saved(np.asfortranarray(np.zeros((3, 4), dtype="<f4")))
    yield "empty", saved(np.zeros((4, 0, 3), dtype="<f8"))
    yield "version_2", saved(np.zeros(3, dtype="<i2"), version=(2, 0))
    yield "version_3", saved(np.zeros(3, dtype="<i2"), version=(3, 0))
    yield "no_space", written("{'shape':(3,),'descr':'<i2','fortran_order':False}")
    yield "quotes", written('{"descr": "|b1", "fortran_order": True,\n'
                            ' "shape": ( 3 , 2 ) }  \n')
    yield "excess", saved(np.zeros(3, dtype="u1")) + b"more"
    good = saved(np.zeros((2, 3), dtype="<f4"))
    yield "cut_data", good[:-1]
    yield "cut_header", good[:60]
    yield "cut_magic", good[:7]
    yield "nothing", b""
    yield "no_magic", good[1:]
    yield "version_9", good[:6] + b"\x09" + good[7:]
    texts = {
        "negative": ("'<f4'", "False", "(-1,)"),
        "number_in_brackets": ("'<f4'", "False", "(3)"),
        "no_tuple": ("'<f4'", "False", "3"),
        "float_extent": ("'<f4'", "False", "(3.0,)"),
        "huge": ("'<f4'", "False", "(4611686018427387904, 4)"),
        "overflow": ("'<f4'", "False", "(99999999999999999999,)"),
        "number_order": ("'<f4'", "0", "(1,)"),
        "two_commas": ("'<f4'", "False", "(1,,)"),
        "too_many": ("'|u1'", "False", "(" + "1, " * 33 + ")"),
        "open_string": ("'<f4", "False", "(1,)"),
    }
    for name, parts in texts.items():
        yield name, written(HEADER % parts)
    yield "lacks_shape", written("{'descr': '<f4', 'fortran_order': False}")
    yield "more_keys", written(HEADER.replace("}", "'x': 1}")
                               % ("'<f4'", "False", "(1,)"))
    yield "call", written("__import__('os')")


# Types that NumPy reads and the parser refuses.
def others():
    yield "records", saved(np.zeros(2, dtype=[("a", "<f4"), ("b", "u1")]))
    yield "string", saved(np.array(["a", "bc"]))
    yield "bytes", saved(np.array([b"a", b"bc"]))
    yield "time", saved(np.array([0], dtype="<M8[s]"))
    yield "long_float", saved(np.zeros(2, dtype="g"))


def npy_row(name, data):
    (HERE / f"{name}.npy").write_bytes(data)
    buffer = io.BytesIO(data)
    try:
        array = np.lib.format.read_array(buffer)
    except Exception:  # whatever a damaged header leads to
        return f"{name}.npy error"
    big = array.dtype.byteorder == ">"
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    row = [f"{name}.npy", array.dtype.kind, array.dtype.itemsize, int(big),
           int(fortran), buffer.tell() - array.nbytes, array.nbytes, *array.shape]
    return " ".join(map(str, row))


def integers():
    yield from (b"", b"0", b"7", b"-7", b"+7", b" 12\n", b"\t\x0b\x0c\r12 ",
                b"1_000", b"_1", b"1_", b"1__0", b"- 1", b"--1", b"+-1", b"1 2",
                b"1.0", b"0x10", b"1e3", b"007", b"-0", b"\x00", b"1\x00", b"a",
                b"9223372036854775807", b"-9223372036854775808", b" ", b"-",
                b"+_1", b"\xd9\xa1", b"\xc2\xa01", b"1\x1c", b"\x1f1", b"-_1",
                b"+")
    rng = random.Random(SEED)
    for _ in range(100):
        yield bytes(rng.choices(b"0123_-+ \n", k=rng.randint(1, 5)))


def integer_row(data):
    try:
        return f"{data.hex() or '-'} {int(data)}"
    except ValueError:
        return f"{data.hex() or '-'} error"


def texts():
    yield from (b"", b"plain", "\u00e9\u4e16\U0001f600\0x".encode(),
                "\ud7ff\ue000\uffff\U0010ffff".encode())
    edges = (0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2,
             0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff)
    for first, second in itertools.product(edges, edges):
        yield bytes([first, second, 0x80, 0x80])
        yield bytes([0x61, first, second])
        yield bytes([first, 0x90, 0x80, second])


def text_row(data):
    try:
        data.decode("utf-8")
        return f"{data.hex() or '-'} ok"
    except UnicodeDecodeError as error:
        return f"{data.hex() or '-'} {error.start}"


def write(name, rows):
    (HERE / name).write_text("\n".join(dict.fromkeys(rows)) + "\n")


def main():
    write("npy.txt", [npy_row(*item) for item in arrays()])
    for name, data in others():
        (HERE / f"other_{name}.npy").write_bytes(data)
    write("integers.txt", map(integer_row, integers()))
    write("texts.txt", map(text_row, texts()))


if __name__ == "__main__":
    main()
