"""Tells modules that are installed from the user's own."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from typing import Any

_FOLDERS = tuple(os.path.realpath(path) + os.sep for path in {
    sysconfig.get_path(name) for name in
    ("stdlib", "platstdlib", "purelib", "platlib")} | {
        os.path.dirname(os.__file__), "/usr/lib/python3/dist-packages"})
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_BUILT_IN = ("frozen", "built-in")


def is_below(path: str) -> bool:
    """Whether a file lies where Python's and installed modules do."""
    return os.path.realpath(path).startswith(_FOLDERS)


def is_part_of_python(top: str) -> bool:
    """Whether a module is in the interpreter itself.

    Args:
      top: a name without dots.
    """
    if top in sys.builtin_module_names or top == "builtins":
        return True
    module = sys.modules.get(top)
    spec = getattr(module, "__spec__", None)
    return (getattr(module, "__file__", None) is None and
            getattr(spec, "origin", None) in _BUILT_IN)


def is_installed(top: str) -> bool:
    """Whether a module that is imported is installed, or nobody's source: an
    extension module.

    Args:
      top: a name without dots.
    """
    if top in ("__main__", "__mp_main__"):
        return False
    path = getattr(sys.modules.get(top), "__file__", None)
    return path is not None and (is_below(path) or path.endswith(_EXTENSIONS))


def has_installed(name: str) -> bool:
    """Whether a module that is not imported yet would be installed, or fail.

    Args:
      name: its parent, if it has one, is imported.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return True
    if spec is None or spec.origin in _BUILT_IN:
        return True
    paths = ([spec.origin] if spec.origin else
             list(spec.submodule_search_locations or ()))
    return all(map(is_below, paths))


def named(module: Any, name: str) -> Any:
    """Returns what a module has under this name; None if it has nothing there."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
