"""Ends children that the user's code forks in a worker and lets return: the parent
goes on as the worker, and the child must not answer in its place."""

from __future__ import annotations

import os
import traceback
from typing import Optional

from .. import _fork

_worker = 0  # none


def note_worker() -> None:
    """Says that this process is a worker."""
    global _worker
    _worker = os.getpid()


def end_child(error: Optional[BaseException] = None) -> None:
    """Ends this process if it is such a child; to be called when the user's code has
    returned or raised.

    Args:
      error: what it has raised.
    """
    if _worker in (0, os.getpid()):
        return
    status = 0
    try:
        if isinstance(error, SystemExit):
            code = error.code
            status = code if isinstance(code, int) else int(code is not None)
        elif error is not None:
            status = 1
            traceback.print_exception(type(error), error, error.__traceback__)
        _fork.flush_output()
    finally:
        os._exit(status & 0xff)
