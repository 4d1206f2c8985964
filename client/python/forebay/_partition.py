"""How far an epoch has come, for all ranks together.

The order of an epoch is one for all ranks: of W ranks, rank r visits the places
r, r + W, r + 2W, ... of it. So after equally many steps of equally large batches
they have visited all places before one, which is the position that a state
holds: it is the same on each of them, and says all that others need to go on,
however many they are.
"""

from __future__ import annotations


class Partition:
    """Which places of an epoch's order one of some ranks visits.

    Attributes:
      places: int, of the order, all ranks'.
    """

    def __init__(self, *, places: int, rank: int, world_size: int, pad: str,
                 batch_size: int):
        """
        Args:
          places: of the order, all ranks'.
          pad: "wrap", "drop" or "none".
        """
        self.places = places
        self._rank = rank
        self._world_size = world_size
        self._pad = pad
        self._batch_size = batch_size

    def start_at(self, place: int) -> int:
        """Where all ranks begin that go on at `place`.

        "none" begins there: each sample from there on comes exactly once, and
        ranks differ by one at most. The others give all ranks equally many, and
        so begin at a multiple of their number: "wrap" at the one before, so that
        each sample from `place` on comes at least once, "drop" at the one after,
        so that each comes at most once.
        """
        if place >= self.places:
            return self.places  # all is done
        beyond = place % self._world_size
        if self._pad == "wrap":
            return place - beyond
        if self._pad == "drop" and beyond:
            return place - beyond + self._world_size
        return place

    def first_sample(self, start: int, samples_per_epoch: int) -> int:
        """How many samples of this rank's epoch lie before the place `start`.

        Args:
          samples_per_epoch: of this rank.
        """
        if start >= self.places:
            return samples_per_epoch
        before = -(-(start - self._rank) // self._world_size)
        return min(max(0, before), samples_per_epoch)

    def place_of(self, start: int, samples: int) -> int:
        """The first place that no rank has visited, if all have made equally
        many steps; the same from each rank's point of view.

        Args:
          start: where all ranks began.
          samples: that this rank has seen since.
        """
        steps = -(-samples // self._batch_size)
        place = start + steps * self._batch_size * self._world_size
        return min(place, self.places)
