"""Marks exceptions of the user's own code. They may be of this package's classes,
because a dataset may read files by forebay.open. Trying again does not help; the epoch
goes on after the sample."""

from __future__ import annotations

import contextlib
from typing import TypeVar

_MARK = "_forebay_is_users"
_Error = TypeVar("_Error", bound=BaseException)


def marked(error: _Error) -> _Error:
    """Returns the exception, marked as one of the user's code."""
    with contextlib.suppress(Exception):
        setattr(error, _MARK, True)
    return error


def is_marked(error: BaseException) -> bool:
    """Whether `marked` was called with the exception."""
    return getattr(error, _MARK, False)
