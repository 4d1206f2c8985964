"""Exceptions of the user's code on their way from a worker to the trainer."""

from __future__ import annotations

import contextlib
import importlib
import traceback
from typing import Any, Type

from .. import _user_error

_NOTE = "_forebay_doing"


def note(error: BaseException, doing: str) -> None:
    """Attaches to an exception, for `describe`, what its code was doing, such as
    "making sample 3"."""
    with contextlib.suppress(Exception):
        setattr(error, _NOTE, doing)


def describe(error: BaseException, doing: str = "") -> str:
    """Returns an exception as text, for `restore`. The first line has its class, and
    the second line what its code was doing. Then comes its traceback.

    Args:
      doing: what the code was doing, unless `note` has attached that.
    """
    # Exceptions that are not of class Exception, such as SystemExit, would end the
    # trainer.
    kind = type(error) if isinstance(error, Exception) else RuntimeError
    # The first frame is the worker's own code.
    frames = error.__traceback__
    if frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    # The note is removed, because the same exception object may be raised again for
    # another sample.
    doing = vars(error).pop(_NOTE, doing).replace("\n", " ")
    trace = "".join(traceback.format_exception(type(error), error, frames))
    text = f"{kind.__module__}:{kind.__qualname__}\n{doing}\n{trace}"
    # A NUL would end the text on its way, and a lone surrogate could not be printed.
    return text.replace("\0", "\\x00").encode(
        errors="backslashreplace").decode()


class _Message(str):
    """A text that KeyError shows without quotes."""

    def __repr__(self) -> str:
        return str(self)


def is_described(text: str) -> bool:
    """Whether `describe` made this text, and not the daemon."""
    return text.count("\n") > 1


def restore(text: str, where: str) -> Exception:
    """Returns the exception for a text that `describe` made.

    Args:
      where: the place where the exception was raised, such as "worker process of
        Dataset".
    """
    if not is_described(text):
        return RuntimeError(f"{where}: {text}")
    name, doing, trace = text.split("\n", 2)
    kind = _class(name)
    if issubclass(kind, StopIteration):
        kind = RuntimeError  # with StopIteration, the epoch would seem complete
    comma = ", " if doing else ""
    message = (f"Caught {name.rpartition(':')[2]} in a {where}{comma}{doing}.\n"
               f"Original {trace}")
    if issubclass(kind, KeyError):
        message = _Message(message)
    try:
        return _user_error.marked(kind(message))
    except Exception:  # the class takes other arguments
        return RuntimeError(message)


def _class(name: str) -> Type[Exception]:
    module, _, qualname = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except Exception:
        return RuntimeError
    if isinstance(found, type) and issubclass(found, Exception):
        return found
    return RuntimeError


def is_of(text: str, kind: Type[BaseException]) -> bool:
    """Whether `describe` made this text of an exception of class `kind`."""
    return text.partition("\n")[0] == f"{kind.__module__}:{kind.__qualname__}"


def message(text: str) -> str:
    """Returns the message of the exception that the text of `describe` contains."""
    return text.rstrip().rpartition("\n")[2].partition(": ")[2]
