"""Joins C++ units into bunches, so that clang-tidy parses shared headers only once.

A unit of this project includes some ten times its own text, and clang-tidy parses
all of that. Therefore clang-tidy first checks bunches: files with the text of several
units, one after the other. If a bunch has no findings, its units have none. If a bunch
has findings, clang-tidy checks its units one by one, and only these findings count.
"""

import collections
import re

MOST_IN_BUNCH = 32
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
# Lines that must stay outside of namespaces.
OUTSIDE = re.compile(r'^int main\(|^BENCHMARK_MAIN\(|^extern "C"',
                     re.MULTILINE)
GLOBAL = ""


class Unit:
    """A .cc file as a part of a bunch.

    Two parts may use the same name for different things, above all in namespaces
    without a name. A test that has no header is moved into a namespace of its own.
    No two other units of a bunch share a namespace.
    """

    def __init__(self, path, text, has_header):
        self.path = path
        self._text = text
        opened = set(NAMESPACE.findall(text))
        if not opened or OUTSIDE.search(text):
            opened.add(GLOBAL)
        self._inner = None
        if path.startswith("tests/") and not has_header and len(opened) == 1:
            self._inner, = opened - {GLOBAL} or {None}
        self.scopes = frozenset() if self._inner else frozenset(opened)

    def part(self, number):
        """Returns the unit's text as part `number` of a bunch, with the same lines."""
        if self._inner is None:
            return self._text
        name = re.escape(self._inner)
        return re.sub(rf"^(namespace {name}) (\{{)$|^(\}}  // namespace {name})$",
                      lambda found: (f"{found[1]}::part{number} {{" if found[1]
                                     else f"{found[3]}::part{number}"),
                      self._text, flags=re.MULTILINE)


def bunches(units, workers):
    """Spreads units over bunches. Units of one folder are together where possible.

    Args:
      units: Unit objects.
      workers: the number of bunches that are checked at a time.

    Returns:
      A list of lists of units.
    """
    most = min(MOST_IN_BUNCH, -(-len(units) // workers))
    # Units of the scope with the most units come first: each needs another bunch.
    crowd = collections.Counter(scope for unit in units
                                for scope in unit.scopes)
    order = sorted(units, key=lambda unit: (
        -max([crowd[scope] for scope in unit.scopes], default=0), unit.path))
    made = []
    for unit in order:
        for members, scopes in made:
            if len(members) < most and not scopes & unit.scopes:
                members.append(unit)
                scopes |= unit.scopes
                break
        else:
            made.append(([unit], set(unit.scopes)))
    return [members for members, _ in made]


def text(bunch):
    """Returns the text of a bunch's file."""
    # The macro between two parts keeps clang-tidy from reporting that a header is
    # included again.
    return "\n".join(f"{unit.part(number)}\n#define FOREBAY_PART_{number}"
                     for number, unit in enumerate(bunch)) + "\n"
