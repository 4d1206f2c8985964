"""Tells whether two processes would make the same samples.

A digest covers the user's code, all that it refers to and all that it holds, but
nothing that differs between processes which run the same: addresses, the order of
sets, what strings are shared. Equal digests mean equal samples.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import itertools
import marshal
import os
import pickle
import sys
import types
from typing import Any, Dict, FrozenSet, List, Optional, Set

from .. import _native
from . import packages, references

_PRIMITIVES = frozenset((type(None), bool, int, float, complex, str, bytes))
# Version 2 of marshal says values alone, without who shares them.
_MARSHAL = 2
# Of this package: others may write batches in another way.
VERSION = _native.lib.forebay_version().decode()
_HEAP_TYPE = 1 << 9  # of a type's flags: made at run time


class Unknown(Exception):
    """An object of which no other process can tell whether it has an equal one;
    says which."""


def of(thing: Any) -> bytes:
    """16 bytes that are equal where the code, its state and its surroundings are:
    interpreter, packages, working directory, mounted file systems, and what the
    code reads of the environment and the command line.

    Raises:
      Unknown: there is no such digest.
    """
    walk = _Walk()
    try:
        walk.add(thing)
        walk.surroundings()
    except Unknown:
        raise
    except RecursionError:
        raise Unknown("something that is nested too deeply") from None
    except Exception as error:
        raise Unknown(f"something that cannot be read: {error!r}") from None
    return walk.hash.digest()


def of_key(key: str, order: Optional[bytes] = None) -> bytes:
    """16 bytes for things that are equal because their users say so.

    Args:
      order: tells an order of samples from others.
    """
    return hashlib.blake2b(repr((VERSION, key, order)).encode(), digest_size=16,
                           person=b"share_key").digest()


class _Walk:
    """Goes through an object and all that it reaches, each once."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)
        self._seen: Dict[int, int] = {}
        self._alive: List[Any] = []  # so that no address comes twice
        self._packages: Dict[str, None] = {}
        self._used: Dict[str, Set[str]] = {}  # names, by module

    def text(self, *parts: str) -> None:
        for part in parts:
            data = part.encode(errors="surrogatepass")
            self.hash.update(b"%d:" % len(data) + data)

    def surroundings(self) -> None:
        """Adds what all code depends on, and the versions of the packages that
        were reached."""
        self.text("surroundings", VERSION, sys.version, os.getcwd(),
                  os.readlink("/proc/self/ns/mnt"))
        torch = sys.modules.get("torch")
        if torch is not None and torch.get_default_dtype() is not torch.float32:
            self.text(str(torch.get_default_dtype()))
        for name in sorted(self._packages):
            module = sys.modules.get(name)
            path = str(getattr(module, "__file__", ""))
            self.text(name, str(getattr(module, "__version__", "")), path)
            if path and not packages.is_below(path):  # an extension module
                found = os.stat(path)
                self.text(f"{found.st_size} {found.st_mtime_ns}")

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
        elif isinstance(thing, functools._lru_cache_wrapper):
            self.text("cached")
            self.add(thing.__wrapped__)
        elif isinstance(thing, types.MappingProxyType):
            self.text("proxy")
            self.add(dict(thing))
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
        # A package may have made it of what is the user's.
        if self._is_packaged(thing.__module__) and (
                not thing.__flags__ & _HEAP_TYPE or
                packages.named(thing.__module__, thing.__qualname__) is thing):
            return
        if type(thing) is not type:
            self.add(type(thing))
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
        scope = thing.__globals__
        self.text("function", thing.__module__ or "", thing.__qualname__)
        is_packaged = self._is_packaged(str(scope.get("__name__", "")))
        if not is_packaged:
            self.add(thing.__code__)
        if not is_packaged or "<locals>" in thing.__qualname__:
            self.add([thing.__defaults__, thing.__kwdefaults__])
        for cell in thing.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                self.text("not set")
                continue
            self.add(value)
        if vars(thing):
            self.add(vars(thing))
        if not is_packaged:
            self._references(references.of(thing), scope)

    def _references(self, found: references.References,
                    scope: Dict[str, Any]) -> None:
        for name in found.globals:
            if name not in scope:
                continue
            value = scope[name]
            self.text(name)
            if isinstance(value, types.ModuleType):
                self._use(value, found.names)
            elif value is not os.environ and value is not os.environb:
                self.add(value)
            elif name not in ("environ", "environb"):
                self.add(sorted(os.environ.items()))
        for name in found.imports:
            self._import(name, found.names)
        if found.variables is None:
            self.add(sorted(os.environ.items()))
        for name in sorted(found.variables or ()):
            self.add([name, os.environ.get(name)])

    def _use(self, module: types.ModuleType, names: FrozenSet[str]) -> None:
        """Adds a module, and the values of these names in it, as they are."""
        self.add(module)
        if module is sys and "argv" in names:
            self.add(sys.argv)
        if self._is_packaged(module.__name__):
            return
        known = self._used.setdefault(module.__name__, set())
        new = names - known
        known |= new
        for name, value in sorted(vars(module).items()):
            if name not in new or name.startswith("__"):
                continue
            self.text(name)
            if isinstance(value, types.ModuleType):
                self._use(value, names)
            else:
                self.add(value)

    def _import(self, name: str, names: FrozenSet[str]) -> None:
        """Adds a module that code imports when it is called."""
        module = sys.modules.get(name)
        if module is not None:
            self._use(module, names)
            return
        self.text("import", name)
        parent = name.rpartition(".")[0]
        if (parent and parent not in sys.modules) or self._is_packaged(name):
            return  # the parent was added before
        if not packages.has_installed(name):
            raise Unknown(f"code that imports {name}, which is not imported yet")

    def _code(self, code: types.CodeType) -> None:
        self.text("code", code.co_name)
        for names in (code.co_names, code.co_varnames, code.co_freevars,
                      code.co_cellvars):
            self.text(str(len(names)), *names)
        self.add([code.co_argcount, code.co_posonlyargcount,
                  code.co_kwonlyargcount, code.co_flags])
        self._bytes(code.co_code)
        self._bytes(getattr(code, "co_exceptiontable", b""))
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
            if not self._is_packaged(owner.__name__):
                self.add(owner)

    def _object(self, thing: Any, kind: type) -> None:
        """Adds what pickle would take of it."""
        array = _array_of(thing)
        self.add(kind)
        if array is not None:
            self.text(repr(array.dtype), array.dtype.str, str(array.shape))
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
            self._global(thing, parts)
            return
        self.text("object", str(len(parts)))
        for place, part in enumerate(parts):
            self.add(list(part) if place in (3, 4) and part is not None else part)

    def _global(self, thing: Any, name: str) -> None:
        """Adds an object that pickle finds by its name alone."""
        self.text("global", name)
        kind = type(thing)
        places = (getattr(thing, "__module__", None), kind.__module__,
                  kind.__module__.partition(".")[0], "builtins")
        if any(packages.named(place, name) is thing and self._is_packaged(place)
               for place in places if isinstance(place, str)):
            return
        place = pickle.whichmodule(thing, name)  # type: ignore[attr-defined]
        if packages.named(place, name) is not thing:
            raise Unknown(f"{_name(kind)} without a name")
        if not self._is_packaged(place):
            self.add(sys.modules[place])

    def _is_packaged(self, name: str) -> bool:
        """Whether a module is installed, rather than the user's; notes which."""
        top = name.partition(".")[0]
        if packages.is_part_of_python(top):
            return True
        if top != "forebay" and not packages.is_installed(top):
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
