"""Reads paths with braces in the way in which the daemon expands them."""

from __future__ import annotations

from typing import List, Tuple


def _alternatives(pattern: str) -> List[str]:
    """Returns the parts between the commas of the braces at a pattern's end; an empty
    list if the braces are not balanced."""
    found, end, depth = [], len(pattern) - 1, 0
    for at in range(end, -1, -1):
        depth += {"}": 1, "{": -1}.get(pattern[at], 0)
        if depth == 0 or depth == 1 and pattern[at] == ",":
            found.append(pattern[at + 1:end])
            end = at
        if depth == 0:
            return found
    return []


def ends_in(pattern: str, endings: Tuple[str, ...]) -> bool:
    """Whether all names that a pattern matches end in one of `endings`."""
    if not pattern.endswith("}"):
        return pattern.endswith(endings)
    names = _alternatives(pattern)
    # Braces without a comma are ordinary characters.
    return len(names) > 1 and all(ends_in(name, endings) for name in names)
