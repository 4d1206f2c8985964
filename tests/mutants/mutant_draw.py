"""Draws mutants from a seed, spread over the rooms of the product."""

import math
import random
import re

import cc_mutants

# The folders whose sources the C++ tests are for.
_PRODUCT = re.compile(r"(server|client/(core|shm|wire|base|device)|cuda|"
                      r"tools/forebayctl)/.*\.cc")
# Stand-ins are the tests' own.
_STAND_IN = re.compile(r".*/fake_\w+\.cc")
MUTANTS_A_FILE = 2
# How many mutants are drawn for one place at most, until one compiles.
TRIES = 5


def is_product(path):
    """Whether a path is of a source that faults are planted into."""
    return bool(_PRODUCT.fullmatch(path)) and not _STAND_IN.fullmatch(path)


class Draw:
    """The mutants of one seed. Equal sources give equal draws."""

    def __init__(self, sources, seed):
        """Takes texts by their paths, and a number or a string."""
        self._seed = seed
        self._lines = {path: text.count("\n") for path, text in sources.items()}
        # Not yet drawn, by file and kind.
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
        """The rooms of `count` mutants, a room once for each. A room's expected
        share is proportional to the square root of its lines, as far as it has
        files enough."""
        weights = {room: math.sqrt(sum(self._lines[path] for path in paths))
                   for room, paths in self._rooms.items()}
        chance = random.Random(f"{self._seed} seats")
        # A divisor method: a room has as many seats as its quotients exceed a bound.
        # The random offset rounds a share up as often as its fraction says.
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
        """Another mutant of a room, or None: its files have as many as they may."""
        paths = [path for path in self._rooms[room]
                 if self._left[path] and self._taken[path] < MUTANTS_A_FILE]
        if not paths:
            return None
        chance = self._random[room]
        path = chance.choices(paths, [self._lines[path] for path in paths])[0]
        kinds = self._left[path]
        kind = chance.choice(sorted(kinds))
        mutant = chance.choice(kinds[kind])
        # File, line and kind name a mutant.
        kinds[kind] = [one for one in kinds[kind] if one.line != mutant.line]
        if not kinds[kind]:
            del kinds[kind]
        self._taken[path] += 1
        return mutant

    def each(self, count, compiles):
        """Calls `compiles` with `count` mutants. Where it returns False, the room
        has another one instead, and the file may have one more."""
        for room in self.seats(count):
            for _ in range(TRIES):
                mutant = self.next(room)
                if mutant is None or compiles(mutant):
                    break
                self._taken[mutant.file] -= 1
