"""Starts the trainers that are measured, gives them tasks, and judges their results."""

import dataclasses
import statistics
import struct
import typing

from .data import NEAR
from .process import Process

START_SECONDS = 120.0
# A victim that is late by this many seconds counts as hanging. Its result is then its
# count so far.
GRACE_SECONDS = 1.0


@dataclasses.dataclass
class Kind:
    """A kind of victim: its work, and how long a turn of it takes.

    Attributes:
      script_kind: the kind of victim.py.
      options: function of a Data that returns the victim's options.
      seconds: the seconds that a turn takes.
      warm_seconds: the seconds that it may take before a turn to fill the cache.
      task: further fields of the victim's task.
      unit: the unit of the victim's rate.
    """
    script_kind: str
    options: typing.Callable
    seconds: float = 1.0
    warm_seconds: float = 0.0
    task: dict = dataclasses.field(default_factory=dict)
    unit: str = "samples/s"


LIGHT_BATCH, LIGHT_STEP = 32, 0.04
KINDS = {
    "open": Kind("open", lambda data: {"batch_size": 32}, unit="datasets/s"),
    "hit": Kind("read", lambda data: {"uri": str(data.few), "batch_size": 64},
                seconds=2.0, warm_seconds=2.0, task={"warms": True}),
    "miss": Kind("read", lambda data: {"uri": str(data.photos), "batch_size": 64},
                 seconds=2.0),
    "python": Kind("python", lambda data: {"uri": str(data.few), "batch_size": 32},
                   seconds=2.5),
    # The victim joins the stream of a trainer that has workers already.
    "equal": Kind("joining", lambda data: KINDS["python"].options(data),
                  seconds=2.5),
    "fetch": Kind("fetch", lambda data: {"paths": [
        str(path) for path in sorted(data.few.glob("*/*.jpg"))[:200]]},
        seconds=2.0, unit="files/s"),
    "web": Kind("read", lambda data: {
        "batch_size": 64, **data.shards_at(data.store().url, NEAR)}),
    "light": Kind("read", lambda data: {"uri": str(data.few),
                                        "batch_size": LIGHT_BATCH},
                  seconds=4.0, task={"step": LIGHT_STEP}),
}


class Victim:
    """A victim's process, which is restarted when it hangs.

    Attributes:
      name: the name of its kind.
      hung: how often the process hung.
      waits: seconds of waiting for batches, by the name of the turn.
      times: seconds that openings took, by the name of the turn.
    """

    def __init__(self, name, data, server):
        self.name = name
        self.kind = KINDS[name]
        self.hung = 0
        self.waits, self.times = {}, {}
        self._data, self._server = data, server
        self._expected = []
        self._progress = data.folder / f"progress-{name}"
        self._progress.write_bytes(bytes(8))
        self._process = None

    def _start(self):
        self._process = Process(
            "victim.py", self._server.environment, f"victim-{self.name}",
            kind=self.kind.script_kind, progress=str(self._progress),
            options=self.kind.options(self._data))
        if self._process.answer(START_SECONDS) != "ready":
            raise RuntimeError(f"victim {self.name} does not start")

    def measure(self, turn):
        """Returns the victim's rate in a turn with the name `turn`.

        Raises:
          RuntimeError: the victim got other samples or bytes than before.
        """
        if self._process is None:
            self._start()
        if self.name != "open":
            return self._rate(turn, {})
        with self._data.unopened() as folders:
            return self._rate(turn, {"folders": folders})

    def _rate(self, turn, more):
        seconds = self.kind.seconds
        self._process.say({"seconds": seconds, **self.kind.task, **more})
        seconds += self.kind.warm_seconds
        found = self._process.answer(seconds + GRACE_SECONDS)
        if found is None:
            self.hung += 1
            self.close()
            count, = struct.unpack("Q", self._progress.read_bytes())
            # The victim waited in vain for at least one batch.
            self.waits.setdefault(turn, []).append(seconds)
            self.times.setdefault(turn, []).append(seconds)
            return count / (seconds + GRACE_SECONDS)
        self._verify(found["digests"])
        self.waits.setdefault(turn, []).extend(found.get("waits", ()))
        if found.get("times"):
            self.times.setdefault(turn, []).append(statistics.median(found["times"]))
        return found["rate"]

    def _verify(self, digests):
        """Checks that the batches are those of earlier turns, in the same order."""
        common = min(len(digests), len(self._expected))
        if digests[:common] != self._expected[:common]:
            raise RuntimeError(f"victim {self.name} got other samples or bytes")
        self._expected += digests[common:]

    def close(self):
        """Kills the victim's process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process = None


def percentile(waits):
    """Returns the 99th percentile."""
    ordered = sorted(waits)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
