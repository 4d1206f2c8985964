"""The progress of an epoch, for all ranks together.

All ranks share one order of an epoch. If there are W ranks, rank r visits the places r,
r + W, r + 2W, ... of that order. After equally many steps with equal batch sizes, the
ranks together have visited all places before some place. A state holds that place. It
is the same on every rank, and any number of ranks can go on from it.
"""

from __future__ import annotations


class Partition:
    """The places of an epoch's order that one rank visits.

    Attributes:
      places: int, the length of the order of all ranks.
    """

    def __init__(self, *, places: int, rank: int, world_size: int, pad: str,
                 batch_size: int):
        """
        Args:
          places: the length of the order of all ranks.
          pad: "wrap", "drop" or "none".
        """
        self.places = places
        self._rank = rank
        self._world_size = world_size
        self._pad = pad
        self._batch_size = batch_size

    def start_at(self, place: int) -> int:
        """Returns the place at which all ranks begin in order to go on at `place`.

        With pad "none" they begin at `place`: each further sample comes exactly
        once, and the ranks' numbers of samples differ by at most one. "wrap" and
        "drop" give all ranks equally many samples, and so begin at a multiple of
        world_size. "wrap" takes the multiple before `place`, so that each further
        sample comes at least once. "drop" takes the multiple after it, so that each
        further sample comes at most once.
        """
        if place >= self.places:
            return self.places  # the epoch is complete
        beyond = place % self._world_size
        if self._pad == "wrap":
            return place - beyond
        if self._pad == "drop" and beyond:
            return place - beyond + self._world_size
        return place

    def first_sample(self, start: int, samples_per_epoch: int) -> int:
        """Returns the number of this rank's samples before the place `start`.

        Args:
          samples_per_epoch: the number of this rank's samples in an epoch.
        """
        if start >= self.places:
            return samples_per_epoch
        before = -(-(start - self._rank) // self._world_size)
        return min(max(0, before), samples_per_epoch)

    def place_of(self, start: int, samples: int) -> int:
        """Returns the first place that no rank has visited, if all ranks have made
        equally many steps. Every rank computes the same place.

        Args:
          start: the place at which all ranks began.
          samples: the number of samples that this rank has seen since.
        """
        steps = -(-samples // self._batch_size)
        place = start + steps * self._batch_size * self._world_size
        return min(place, self.places)
