"""Checks the claim of a share_key, which is that another job's workers make the same
samples as this job would."""

from __future__ import annotations

import logging
import os
import random
from typing import Any, Callable, List, Sequence, Tuple

from .. import _job, errors
from . import values
from .values import Flat

_log = logging.getLogger("forebay")
FIRST = 4  # the samples of the first batch that are compared
_INTERVAL = 10_000  # one of so many samples is compared


class SharedCheck:
    """Chooses some shared samples at random, and compares them with samples that this
    job makes itself.

    A single thread at a time may use it.
    """

    def __init__(self, name: str, key: str, whose: str,
                 make: Callable[[Any, bool], List[Flat]]):
        """
        Args:
          name: the dataset's name, for people.
          key: the share_key.
          whose: a clause that names the job whose workers make the shared samples.
          make: a function that makes the samples of a task, in a worker process. Its
            second argument says whether the samples are made again, as
            own_samples.Again does.
        """
        self._name = name
        self._key = key
        self._whose = whose
        self._make = make
        # The choice has its own random generator. Jobs then choose different samples,
        # and the user's generators do not change.
        self._chance = random.Random(os.urandom(16))
        self._due = FIRST
        self._before_next = self._chance.randrange(_INTERVAL)  # samples to pass over
        self._has_told = False

    def begin(self) -> None:
        """Begins another epoch."""
        self._due = FIRST

    def choose(self, samples: int) -> List[int]:
        """Returns the places, in a batch of `samples` samples, of the samples to
        compare."""
        count = min(self._due, samples)
        self._due -= count
        chosen = set(self._chance.sample(range(samples), count))
        self._before_next -= samples
        if self._before_next < 0:
            chosen.add(self._chance.randrange(samples))
            self._before_next %= _INTERVAL
        return sorted(chosen)

    def compare(self, task: Any, names: Sequence[str], others: List[Flat]) -> None:
        """Compares shared values with values that this job makes itself.

        Args:
          task: the task that makes this job's values.
          names: the values' names, for people.
          others: the shared values.

        Raises:
          errors.StateError: the values differ.
          errors.SourceUnavailable: the process that makes this job's samples has ended.
          Exception: see HostProcess.make.
        """
        made = self._make(task, False)
        again: List[Flat] = []
        for number, (own, other) in enumerate(zip(made, others)):
            if values.difference(own, None, other) is None:
                continue
            if not again:
                # Another worker makes the values again. Parts that depend on the
                # process, or on what it has made before, then differ, and are not
                # compared.
                again = self._make(task, True)
            found = values.difference(own, again[number], other)
            if found is not None:
                raise errors.StateError(
                    f"{self._name}: {names[number]} has another {found.field} in this "
                    f"job, {_job.job_name()} (process {os.getpid()}), than among the "
                    f"shared samples: {found.own} here, {found.other} there; "
                    f"{self._whose}. Both have the share_key {self._key!r}, which is "
                    "for equal code, data and settings: give each a key of its own, or "
                    "none")
            self._tell(names[number])

    def _tell(self, name: str) -> None:
        if not self._has_told:
            self._has_told = True
            tell_of_difference(self._name, name, self._key)


def tell_of_difference(name: str, sample: str, key: str) -> None:
    """Logs that two workers of one job make different values of a sample.

    Args:
      name: the name of the dataset or the code, for people.
      sample: the sample's name, for people.
      key: the share_key.
    """
    _log.warning("%s: its code makes %s in another way each time: what differs is not "
                 "compared with other jobs of the share_key %r", name, sample, key)


def alike(one: List[Flat], other: List[Flat]) -> Tuple[Any, ...]:
    """Returns those parts of some values that two workers of one job make equal, as
    plain values that can be compared between processes."""
    return tuple(tuple((place, part) for place, part in first.items()
                       if second.get(place) == part)
                 for first, second in zip(one, other))
