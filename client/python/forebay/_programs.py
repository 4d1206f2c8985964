"""Commands for the programs that a wheel installs."""

from __future__ import annotations

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "programs"


def _become(name: str) -> None:
    program = str(FOLDER / name)
    os.execv(program, [program, *sys.argv[1:]])


def forebayd() -> None:
    """Replaces this process by the daemon, with the same arguments."""
    _become("forebayd")


def forebayctl() -> None:
    """Replaces this process by forebayctl, with the same arguments."""
    # forebayctl runs its verb `inspect` with this Python, because it has the package.
    os.environ.setdefault("FOREBAY_PYTHON", sys.executable)
    _become("forebayctl")
