"""Ends processes that the user's code has forked in a worker, and in which that code
returns. The parent continues as the worker; the child must not answer the daemon as
well."""

from __future__ import annotations

import os
import traceback
from typing import Optional

from .. import _fork

_worker = 0  # the process id of the worker; 0: there is none


def note_worker() -> None:
    """Records that this process is a worker."""
    global _worker
    _worker = os.getpid()


def end_child(error: Optional[BaseException] = None) -> None:
    """Ends this process if it is a forked child of the worker. Must be called when the
    user's code has returned or raised.

    Args:
      error: the exception that the code has raised.
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
