"""Code that all translators of other libraries' transforms share."""

from __future__ import annotations

from typing import Any, Iterable


class NoCounterpart(Exception):
    """The daemon cannot run an op. If the daemon runs other ops of the same class, the
    message says why it cannot run this one."""

    def __str__(self) -> str:
        return f" ({self.args[0]})" if self.args else ""


def name_of(op: Any) -> str:
    """Returns the name by which users know an op: the name of its class or of the
    function."""
    name = getattr(op, "__name__", None)
    return name if isinstance(name, str) else type(op).__name__


def comes_from(op: Any, package: str) -> bool:
    """Whether the class of `op` itself is defined in a package, not only its base
    class."""
    module = type(op).__module__
    return module == package or module.startswith(package + ".")


def check_jitter(op: Any, **farthest: float) -> None:
    """Refuses changes of colour that PIL rounds too differently.

    The result of each change may differ by one level. The differences of several
    changes add up.

    Args:
      op: a ColorJitter. Each of its ranges is None or a pair of numbers around 1.
      **farthest: for each range, the largest distance from 1 at which results stay
        within one level.

    Raises:
      NoCounterpart: `op` asks for more than one change, or for a larger one.
    """
    ranges = {name: tuple(getattr(op, name)) for name in farthest
              if getattr(op, name) is not None}
    active = [name for name, pair in ranges.items() if pair != (1, 1)]
    if len(active) > 1:
        raise NoCounterpart(
            f"{' and '.join(active)}: together they round otherwise than those "
            "of PIL images")
    for name in active:
        if max(abs(factor - 1) for factor in ranges[name]) > farthest[name]:
            raise NoCounterpart(
                f"{name} more than {farthest[name]:g} from 1 rounds otherwise "
                "than that of PIL images")


def is_plainly(thing: Any, package: str, names: Iterable[str],
               method: str) -> bool:
    """Whether an object's class is one of the classes `names` of a package. The class
    may also be derived from one of these, if it overrides neither `method` nor
    __getitems__."""
    kind = type(thing)
    for base in kind.__mro__:
        module = base.__module__
        if (base.__name__ in names and
                (module == package or module.startswith(package + "."))):
            return all(getattr(kind, name, None) is getattr(base, name, None)
                       for name in (method, "__getitems__"))
    return False
