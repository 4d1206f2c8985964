"""Tells whether two processes would make the same samples.

A digest covers the user's code, all that it refers to and all that it holds, but
nothing that differs between processes which run the same: addresses, the order of
sets, what strings are shared. Equal digests mean equal samples.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import importlib.machinery
import itertools
import marshal
import os
import sys
import sysconfig
import types
from typing import Any, Dict, List

_PRIMITIVES = frozenset((type(None), bool, int, float, complex, str, bytes))
# Version 2 of marshal says values alone, without who shares them.
_MARSHAL = 2
_PACKAGES = tuple(os.path.realpath(path) + os.sep for path in {
    sysconfig.get_path(name) for name in
    ("stdlib", "platstdlib", "purelib", "platlib")} | {
        os.path.dirname(os.__file__), "/usr/lib/python3/dist-packages"})
_ACCESSES = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))


class Unknown(Exception):
    """An object of which no other process can tell whether it has an equal one;
    says which."""


def of(thing: Any) -> bytes:
    """16 bytes that are equal where the code, its state and its surroundings are:
    interpreter, packages, working directory and mounted file systems.

    Raises:
      Unknown: there is no such digest.
    """
    walk = _Walk()
    walk.add(thing)
    walk.text("surroundings", sys.version, os.getcwd(),
              os.readlink("/proc/self/ns/mnt"))
    walk.versions()
    return walk.hash.digest()


class _Walk:
    """Goes through an object and all that it reaches, each once."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)
        self._seen: Dict[int, int] = {}
        self._alive: List[Any] = []  # so that no address comes twice
        self._packages: Dict[str, None] = {}

    def text(self, *parts: str) -> None:
        for part in parts:
            data = part.encode(errors="surrogatepass")
            self.hash.update(b"%d:" % len(data) + data)

    def versions(self) -> None:
        """Adds the versions of the packages that were reached."""
        for name in sorted(self._packages):
            module = sys.modules.get(name)
            self.text(name, str(getattr(module, "__version__", "")),
                      str(getattr(module, "__file__", "")))

    def add(self, thing: Any) -> None:
        kind = type(thing)
        if kind in _PRIMITIVES:
            self._bytes(marshal.dumps(thing, _MARSHAL))
            return
        if kind in (list, tuple) and _is_plain(thing):
            self._bytes(marshal.dumps(thing, _MARSHAL))
            return
        number = self._seen.get(id(thing))
        if number is not None:
            self.text(f"seen {number}")
            return
        self._seen[id(thing)] = len(self._seen)
        self._alive.append(thing)
        self._add_new(thing, kind)

    def _bytes(self, data: bytes) -> None:
        self.hash.update(b"%d:" % len(data))
        self.hash.update(data)

    def _add_new(self, thing: Any, kind: Any) -> None:
        if kind in (list, tuple):
            self.text(kind.__name__, str(len(thing)))
            for item in thing:
                self.add(item)
        elif kind is dict:
            self.text("dict", str(len(thing)))
            for item in itertools.chain.from_iterable(thing.items()):
                self.add(item)
        elif kind in (set, frozenset):
            self._set(thing)
        elif isinstance(thing, type):
            self._class(thing)
        elif isinstance(thing, types.FunctionType):
            self._function(thing)
        elif isinstance(thing, types.MethodType):
            self.text("method", thing.__name__)
            self.add(thing.__self__)
            self.add(thing.__func__)
        elif isinstance(thing, types.ModuleType):
            self._module(thing)
        elif isinstance(thing, types.CodeType):
            self._code(thing)
        elif isinstance(thing, types.BuiltinFunctionType):
            self._builtin(thing)
        elif isinstance(thing, functools.partial):
            self.text("partial")
            self.add([thing.func, thing.args, thing.keywords])
        else:
            self._object(thing, kind)

    def _set(self, thing: Any) -> None:
        digests = []
        for item in thing:
            if type(item) not in _PRIMITIVES:
                raise Unknown(f"a set with a {type(item).__name__}")
            digests.append(marshal.dumps(item, _MARSHAL))
        self.text("set", str(len(digests)))
        for data in sorted(digests):
            self._bytes(data)

    def _class(self, thing: type) -> None:
        self.text("class", thing.__module__, thing.__qualname__)
        if self._is_packaged(thing.__module__):
            return
        for base in thing.__bases__:
            self.add(base)
        for name, value in sorted(vars(thing).items()):
            if name not in ("__dict__", "__weakref__", "__doc__", "__module__",
                            "__abstractmethods__", "_abc_impl",
                            "__parameters__", "__orig_bases__",
                            "__annotations__", "__firstlineno__", "__slotnames__"):
                self.text(name)
                self._member(value)

    def _member(self, value: Any) -> None:
        if isinstance(value, (staticmethod, classmethod)):
            self.text(type(value).__name__)
            value = value.__func__
        elif isinstance(value, property):
            self.add([value.fget, value.fset, value.fdel])
            return
        elif isinstance(value, (types.MemberDescriptorType,
                                types.GetSetDescriptorType)):
            self.text("slot")
            return
        self.add(value)

    def _function(self, thing: types.FunctionType) -> None:
        self.text("function", thing.__module__ or "", thing.__qualname__)
        if self._is_packaged(thing.__module__ or ""):
            self.add(getattr(thing, "__closure__", None) and [
                cell.cell_contents for cell in thing.__closure__ or ()])
            return
        self.add(thing.__code__)
        self.add([thing.__defaults__, thing.__kwdefaults__])
        for cell in thing.__closure__ or ():
            self.add(cell.cell_contents)
        for name in sorted(_globals_of(thing.__code__)):
            if name in thing.__globals__:
                self.text(name)
                self.add(thing.__globals__[name])

    def _code(self, code: types.CodeType) -> None:
        self.text("code", code.co_name, *code.co_names, *code.co_varnames)
        self._bytes(code.co_code)
        for constant in code.co_consts:
            self.add(constant)

    def _module(self, module: types.ModuleType) -> None:
        self.text("module", module.__name__)
        if self._is_packaged(module.__name__):
            return
        path = getattr(module, "__file__", None)
        if path is None:
            raise Unknown(f"the module {module.__name__}")
        try:
            with open(path, "rb") as file:
                self._bytes(file.read())
        except OSError as error:
            raise Unknown(f"the module {module.__name__}: {error}") from None
        for name, value in sorted(vars(module).items()):
            # All else is made by the file, or imported with such a thing.
            is_imported = isinstance(value, types.ModuleType) or (
                isinstance(value, (types.FunctionType, type)) and
                value.__module__ != module.__name__)
            if is_imported and not name.startswith("__"):
                self.text(name)
                self.add(value)

    def _builtin(self, thing: Any) -> None:
        owner = thing.__self__
        self.text("builtin", thing.__name__)
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.add(owner)
        elif owner is not None:
            self.text(owner.__name__)
            self._is_packaged(owner.__name__)

    def _object(self, thing: Any, kind: type) -> None:
        """Adds what pickle would take of it."""
        array = _array_of(thing)
        self.add(kind)
        if array is not None:
            self.text(array.dtype.str, str(array.shape))
            self._bytes(array.tobytes())
            return
        reduce = copyreg.dispatch_table.get(kind)
        try:
            parts = (thing.__reduce_ex__(4) if reduce is None else
                     reduce(thing))
        except Exception as error:
            raise Unknown(f"{_name(kind)}, which cannot be pickled: {error}"
                          ) from None
        if isinstance(parts, str):
            self.text(parts)
            return
        self.text("object", str(len(parts)))
        for place, part in enumerate(parts):
            self.add(list(part) if place in (3, 4) and part is not None else part)

    def _is_packaged(self, name: str) -> bool:
        """Whether a module is installed, rather than the user's; notes which."""
        top = name.partition(".")[0]
        if top in sys.builtin_module_names or top == "builtins":
            return True
        if top in ("__main__", "__mp_main__"):
            return False
        path = getattr(sys.modules.get(top), "__file__", None)
        spec = getattr(sys.modules.get(top), "__spec__", None)
        if path is None and getattr(spec, "origin", None) in ("frozen",
                                                              "built-in"):
            return True
        if path is None or not os.path.realpath(path).startswith(_PACKAGES):
            # An extension module is nobody's source.
            is_own = path is None or not path.endswith(
                tuple(importlib.machinery.EXTENSION_SUFFIXES))
            if is_own and top != "forebay":
                return False
        self._packages[top] = None
        return True


def _name(kind: type) -> str:
    return f"a {kind.__module__}.{kind.__qualname__}"


def _is_plain(thing: Any) -> bool:
    """Whether a list has primitives, or tuples of such, alone."""
    kinds = set(map(type, thing))
    if kinds == {tuple}:
        kinds = set(map(type, itertools.chain.from_iterable(thing)))
    return kinds <= _PRIMITIVES


def _array_of(thing: Any) -> Any:
    """An array or a tensor as an array; else None."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and type(thing) is torch.Tensor:
        if (thing.device.type != "cpu" or thing.layout is not torch.strided or
                thing.dtype is torch.bfloat16 or thing.is_quantized):
            raise Unknown(f"a tensor of {thing.dtype} on {thing.device}")
        return thing.detach().resolve_conj().resolve_neg().numpy()
    if numpy is not None and type(thing) is numpy.ndarray and (
            not thing.dtype.hasobject):
        return thing
    return None


def _globals_of(code: types.CodeType) -> Any:
    """The global names that a function, and those inside it, look up."""
    names = {step.argval for step in dis.get_instructions(code)
             if step.opname in _ACCESSES}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_of(constant)
    return names
