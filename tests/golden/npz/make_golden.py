"""Writes .npz files with NumPy. Run it in this folder: python3 make_golden.py"""

import pathlib

import numpy

HERE = pathlib.Path(__file__).parent


def arrays(number):
    """Returns arrays of which only `x` and `y` have equally many rows."""
    rows = 5 + number
    return {"x": numpy.arange(rows * 6, dtype="float32").reshape(rows, 2, 3),
            "y": numpy.arange(rows, dtype="uint8"),
            "scalar": numpy.int64(7 + number),
            "long": numpy.zeros(2000 + number, "int16"),
            "words": numpy.array(["a", "bc"])}


numpy.savez(HERE / "stored.npz", **arrays(0))
numpy.savez_compressed(HERE / "deflated.npz", **arrays(1))
numpy.savez(HERE / "rows.npz", **{name: arrays(0)[name] for name in "xy"})
numpy.savez(HERE / "empty.npz")
numpy.savez(HERE / "unnamed.npz", numpy.arange(4), numpy.arange(3.0))
# Arrays without rows, whose rows would have 2**64 bytes together.
numpy.savez(HERE / "no_rows.npz",
            **{name: numpy.zeros((0, 1 << 62), "uint8") for name in "abcd"})
