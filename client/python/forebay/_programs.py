"""The programs that an installed wheel brings, as commands."""

from __future__ import annotations

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "programs"


def _become(name: str) -> None:
    program = str(FOLDER / name)
    os.execv(program, [program, *sys.argv[1:]])


def forebayd() -> None:
    """Becomes the daemon, with this process's arguments."""
    _become("forebayd")


def forebayctl() -> None:
    """Becomes the daemon's command line, with this process's arguments."""
    _become("forebayctl")
