"""Draws mutants from a seed, spread over the rooms of the product."""

import math
import random
import re

import cc_mutants

# The folders whose sources the C++ tests test.
_PRODUCT = re.compile(r"(server|client/(core|shm|wire|base|device)|cuda|"
                      r"tools/forebayctl)/.*\.cc")
# Stand-ins belong to the tests.
_STAND_IN = re.compile(r".*/fake_\w+\.cc")
MUTANTS_A_FILE = 2
# The most mutants that are drawn for one place in the sample, until one compiles.
TRIES = 5


def is_product(path):
    """Returns whether faults are planted into the source at a path."""
    return bool(_PRODUCT.fullmatch(path)) and not _STAND_IN.fullmatch(path)


class Draw:
    """The mutants of one seed. Equal sources give the same mutants."""

    def __init__(self, sources, seed):
        """`sources` has the texts by their paths; `seed` is a number or a string."""
        self._seed = seed
        self._lines = {path: text.count("\n") for path, text in sources.items()}
        # The mutants that are not yet drawn, by file and kind.
        self._left = {}
        self._rooms = {}
        for path in sorted(sources):
            kinds = {}
            for mutant in cc_mutants.mutants_of(path, sources[path]):
                kinds.setdefault(mutant.kind, []).append(mutant)
            if kinds:
                self._left[path] = kinds
                self._rooms.setdefault(path.rpartition("/")[0], []).append(path)
        self._taken = dict.fromkeys(self._left, 0)
        self._random = {room: random.Random(f"{seed} {room}") for room in self._rooms}

    def seats(self, count):
        """Returns a list of `count` rooms. A room is in the list once for each mutant
        that it gets. Its expected share is in proportion to the square root of its
        lines, as long as it has enough files."""
        weights = {room: math.sqrt(sum(self._lines[path] for path in paths))
                   for room, paths in self._rooms.items()}
        chance = random.Random(f"{self._seed} seats")
        # A divisor method: each next seat goes to the room with the largest quotient.
        # The random offset rounds a share up with the probability of its fraction.
        awarded = {room: 1 - chance.random() for room in sorted(weights)}
        seats = []
        while len(seats) < count:
            open_rooms = [room for room in sorted(weights) if
                          seats.count(room) < MUTANTS_A_FILE * len(self._rooms[room])]
            if not open_rooms:
                break
            room = max(open_rooms, key=lambda one: weights[one] / awarded[one])
            awarded[room] += 1
            seats.append(room)
        return seats

    def next(self, room):
        """Returns another mutant of a room, or None if its files have as many as they
        may."""
        paths = [path for path in self._rooms[room]
                 if self._left[path] and self._taken[path] < MUTANTS_A_FILE]
        if not paths:
            return None
        chance = self._random[room]
        path = chance.choices(paths, [self._lines[path] for path in paths])[0]
        kinds = self._left[path]
        kind = chance.choice(sorted(kinds))
        mutant = chance.choice(kinds[kind])
        # Mutants with the same file, line and kind count as one.
        kinds[kind] = [one for one in kinds[kind] if one.line != mutant.line]
        if not kinds[kind]:
            del kinds[kind]
        self._taken[path] += 1
        return mutant

    def each(self, count, compiles):
        """Calls `compiles` with `count` mutants. If it returns False, another mutant of
        the room is tried, and the file may have one more."""
        for room in self.seats(count):
            for _ in range(TRIES):
                mutant = self.next(room)
                if mutant is None or compiles(mutant):
                    break
                self._taken[mutant.file] -= 1
