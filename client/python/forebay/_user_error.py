"""Exceptions of the user's own code, which may be of this package's classes: a dataset
may read its files by forebay.open. No next try helps, and the epoch goes on behind
them."""

from __future__ import annotations

import contextlib
from typing import TypeVar

_MARK = "_forebay_is_users"
_Error = TypeVar("_Error", bound=BaseException)


def marked(error: _Error) -> _Error:
    """The exception, marked as the user's."""
    with contextlib.suppress(Exception):
        setattr(error, _MARK, True)
    return error


def is_marked(error: BaseException) -> bool:
    """Whether `marked` was called with the exception."""
    return getattr(error, _MARK, False)
