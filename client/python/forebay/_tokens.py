"""Files of tokens, and the windows in them that are samples."""

from __future__ import annotations

import numbers
import os
from typing import Any, Dict, List, Optional, Tuple, Union

from . import errors

_TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
_MOST = 1 << 40  # the most tokens of a window


class Tokens:
    """The result of `tokens`, for DataLoader.

    Attributes:
      path: the files' path, with braces and wildcards.
      settings: dict of str, the settings that the native options have.
    """

    def __init__(self, path, settings):
        self.path = path
        self.settings: Dict[str, str] = settings

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}"
                           for name, value in self.settings.items())
        return f"tokens({os.fspath(self.path)!r}{settings})"


def tokens(path: Union[str, "os.PathLike[str]"], *, length: Optional[int],
           stride: Optional[int] = None, dtype: Any = None,
           documents: str = "cross", tail: str = "drop",
           targets: bool = False) -> Tokens:
    """Describes the windows of files of tokens as a dataset.

    A batch has the field "tokens", of the files' own integer type. Files follow one
    another. No window crosses the end of a file.

    Args:
      path: the files' path or URI, with braces ("{000..127}.bin") and wildcards. `.npy`
        files have one axis. `.bin` files are Megatron-LM's, with an `.idx` file beside
        each. The path of the `.idx` file, or a path without the ending, means the same
        files. With dtype=, files have no header, like those of nanoGPT.
      length: tokens of a window; None: each document is a sample.
      stride: tokens from the start of one window to the start of the next; None:
        `length`. With stride=1 and shuffle=True, windows begin at random tokens, as in
        nanoGPT, but each window comes once.
      dtype: the type of tokens in files without a header, such as "uint16". Tokens are
        little-endian.
      documents: "cross": windows may cross the ends of documents. "each": no window
        does. Only Megatron-LM's files have several documents.
      tail: "drop": the tokens after the last whole window are left out. "keep": these
        tokens are a shorter window, so samples differ in length (see DataLoader's
        ragged).
      targets: whether a batch also has the field "targets": the same window, one token
        further on. A window then needs one token more.

    Returns:
      A Tokens, to pass to DataLoader as `dataset`.
    """
    settings = {"length": "document" if length is None else
                str(_count(length, "length"))}
    if stride is not None:
        if length is None:
            raise errors.InvalidArgument(
                "stride is of windows; without a length, samples are documents")
        settings["stride"] = str(_count(stride, "stride"))
    if dtype is not None:
        settings["dtype"] = _type(dtype)
    for name, value, choices in (("documents", documents, ("cross", "each")),
                                 ("tail", tail, ("drop", "keep"))):
        if value not in choices:
            raise errors.InvalidArgument(
                f'{name} must be "{choices[0]}" or "{choices[1]}", not {value!r}')
        settings[name] = value
    settings["targets"] = str(int(bool(targets)))
    return Tokens(path if dtype is not None else _of_data(path), settings)


def _count(value, name):
    if (isinstance(value, bool) or not isinstance(value, numbers.Integral) or
            not 1 <= int(value) <= _MOST):
        raise errors.InvalidArgument(
            f"{name} must be an integer from 1 to 2^40, not {value!r}")
    return int(value)


def _type(dtype):
    """Returns the name of a type, which may also be NumPy's type or dtype."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype)
    if name not in _TYPES:
        raise errors.InvalidArgument(
            f"dtype must be one of {', '.join(_TYPES)}, not {dtype!r}")
    return name


def _of_data(path):
    """Returns the path of the files that hold the tokens."""
    text = os.fsdecode(os.fspath(path))
    if text.endswith(".idx"):
        return text[:-len(".idx")] + ".bin"
    return path if text.endswith((".bin", ".npy", "}")) else text + ".bin"


def names_and_values(dataset: Tokens) -> Tuple[List[bytes], List[bytes]]:
    """Returns the fields and columns of the native options."""
    return ([name.encode() for name in dataset.settings],
            [value.encode() for value in dataset.settings.values()])
