"""Tells what the user's code refers to by name, from its byte code."""

from __future__ import annotations

import dis
import importlib.util
import types
from typing import Any, FrozenSet, List, NamedTuple, Optional, Set, Tuple

_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"))
# Say nothing of what the code does.
_NOISE = frozenset(("CACHE", "PRECALL", "PUSH_NULL", "RESUME", "NOP",
                    "EXTENDED_ARG", "COPY_FREE_VARS"))
_ENVIRONMENT = frozenset(("environ", "environb", "getenv", "getenvb"))
_LOOKS = frozenset(("get", "pop", "setdefault", "__getitem__"))


class References(NamedTuple):
    """Names that a function, and those inside it, refer to.

    Attributes:
      globals: the names that they look up, sorted.
      names: these, and those of attributes.
      imports: the full names of modules that they import, sorted.
      variables: of the environment that they read; None: nobody can tell which.
    """

    globals: Tuple[str, ...]
    names: FrozenSet[str]
    imports: Tuple[str, ...]
    variables: Optional[FrozenSet[str]]


def of(function: types.FunctionType) -> References:
    """Returns the names that this function refers to."""
    scope = function.__globals__
    found = _Found(scope.get("__package__") or
                   str(scope.get("__name__", "")).rpartition(".")[0])
    found.add(function.__code__)
    return References(
        tuple(sorted(found.globals)), frozenset(found.names),
        tuple(sorted(found.imports)),
        None if found.reads_all else frozenset(found.variables))


class _Found:

    def __init__(self, package: str):
        self._package = package
        self.globals: Set[str] = set()
        self.names: Set[str] = set()
        self.imports: Set[str] = set()
        self.variables: Set[str] = set()
        self.reads_all = False

    def add(self, code: types.CodeType) -> None:
        self.names.update(code.co_names)
        steps = [step for step in dis.get_instructions(code)
                 if step.opname not in _NOISE]
        for place, step in enumerate(steps):
            if step.opname in _GLOBALS:
                self.globals.add(step.argval)
            if step.opname == "IMPORT_NAME":
                self._add_import(step.argval, steps[place - 2].argval,
                                 steps[place - 1].argval)
            elif (step.opname in _GLOBALS | _ATTRIBUTES and
                  step.argval in _ENVIRONMENT):
                self._add_variable(steps, place)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.add(constant)

    def _add_import(self, name: str, level: Any, parts: Any) -> None:
        full = name
        if level:
            try:
                full = importlib.util.resolve_name("." * level + name,
                                                   self._package)
            except (ImportError, ValueError):
                return  # it fails when it runs, too
        whole = full
        while full:
            self.imports.add(full)
            full = full.rpartition(".")[0]
        for part in parts or ():
            self.names.add(part)
            self.imports.add(f"{whole}.{part}")  # it may be a module

    def _add_variable(self, steps: List[Any], place: int) -> None:
        behind = [step for step in steps[place + 1:place + 3]]
        if behind and behind[0].opname == "CONTAINS_OP":
            # The key came before the mapping, and before the module it is in.
            first = place - (steps[place].opname in _ATTRIBUTES)
            behind = steps[first - 1:first]
        elif (behind and behind[0].opname in _ATTRIBUTES and
              behind[0].argval in _LOOKS):
            del behind[0]
        key = behind[0].argval if behind else None
        if behind and behind[0].opname == "LOAD_CONST" and type(key) is str:
            self.variables.add(key)
        elif steps[place].opname != "IMPORT_FROM":
            self.reads_all = True
