"""Exceptions of the user's code on their way from a worker to the trainer."""

from __future__ import annotations

import importlib
import traceback
from typing import Any, Type


def describe(error: BaseException) -> str:
    """An exception as text, for `restore`: its class in the first line, then its
    traceback."""
    # Others, such as SystemExit, would end the trainer.
    kind = type(error) if isinstance(error, Exception) else RuntimeError
    # The first frame is the worker's own.
    frames = error.__traceback__
    if frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    return f"{kind.__module__}:{kind.__qualname__}\n{text}"


class _Message(str):
    """A text that KeyError shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def restore(text: str, where: str) -> Exception:
    """The exception that `describe` made a text of.

    Args:
      where: it was raised, such as "worker process of Dataset".
    """
    name, _, trace = text.partition("\n")
    if not trace:  # the daemon's own words
        return RuntimeError(f"{where}: {text}")
    kind = _class(name)
    if issubclass(kind, StopIteration):
        kind = RuntimeError  # the epoch would seem complete
    message = (f"Caught {name.rpartition(':')[2]} in a {where}.\n"
               f"Original {trace}")
    if issubclass(kind, KeyError):
        message = _Message(message)
    try:
        return kind(message)
    except Exception:  # it wants other arguments
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
    """Whether `describe` made this text of such an exception."""
    return text.partition("\n")[0] == f"{kind.__module__}:{kind.__qualname__}"


def message(text: str) -> str:
    """The message of the exception that `describe` made a text of."""
    return text.rstrip().rpartition("\n")[2].partition(": ")[2]
