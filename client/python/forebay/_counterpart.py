"""What the translators of other libraries' transforms have in common."""

from __future__ import annotations

from typing import Any, Iterable


class NoCounterpart(Exception):
    """An op cannot be carried out by the daemon; the message, if any, says why
    this one cannot although others of its class can."""

    def __str__(self) -> str:
        return f" ({self.args[0]})" if self.args else ""


def name_of(op: Any) -> str:
    """What people call an op: its class, or a function's own name."""
    name = getattr(op, "__name__", None)
    return name if isinstance(name, str) else type(op).__name__


def comes_from(op: Any, package: str) -> bool:
    """Whether the class of `op` is of a package itself, not derived from it."""
    module = type(op).__module__
    return module == package or module.startswith(package + ".")


def check_jitter(op: Any, **farthest: float) -> None:
    """Refuses changes of colour that PIL rounds too differently.

    Each may round by a level otherwise than another library's; one after the
    other, these levels add up.

    Args:
      op: a ColorJitter, whose ranges are pairs around 1, or None.
      **farthest: for each of its ranges, how far from 1 it stays within a level.

    Raises:
      NoCounterpart: more than one is asked for, or one goes farther.
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
    """Whether an object is of one of a package's classes, or of one derived from
    it that leaves a method as it is there."""
    for base in type(thing).__mro__:
        module = base.__module__
        if (base.__name__ in names and
                (module == package or module.startswith(package + "."))):
            return getattr(type(thing), method) is getattr(base, method)
    return False
