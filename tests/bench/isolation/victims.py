"""The trainers that are measured, from outside."""

import dataclasses
import statistics
import struct
import typing

from .data import NEAR
from .process import Process

START_SECONDS = 120.0
# The seconds behind its time after which a victim counts as hanging. Its result is
# its count so far.
GRACE_SECONDS = 1.0


@dataclasses.dataclass
class Kind:
    """A kind of victim: its work, and how long a turn of it takes.

    Attributes:
      script_kind: the kind of victim.py.
      options: function of a Data that returns its options.
      seconds: that a turn of it takes.
      warm_seconds: that it may take before, until all is cached.
      task: further fields of its task.
      unit: of its rate.
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
    # The victim joins a trainer that has workers already.
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
    """A victim's process, which is started again when it hangs.

    Attributes:
      name: of its kind.
      hung: how often it hung.
      waits: seconds that it waited for batches, by the name of the turn.
      times: seconds that openings took, likewise.
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
        """Returns the victim's rate in a turn of this name.

        Raises:
          RuntimeError: it got other samples or bytes than before.
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
            # At least one was waited for in vain.
            self.waits.setdefault(turn, []).append(seconds)
            self.times.setdefault(turn, []).append(seconds)
            return count / (seconds + GRACE_SECONDS)
        self._verify(found["digests"])
        self.waits.setdefault(turn, []).extend(found.get("waits", ()))
        if found.get("times"):
            self.times.setdefault(turn, []).append(statistics.median(found["times"]))
        return found["rate"]

    def _verify(self, digests):
        """Compares with the batches of other turns, in the same order."""
        common = min(len(digests), len(self._expected))
        if digests[:common] != self._expected[:common]:
            raise RuntimeError(f"victim {self.name} got other samples or bytes")
        self._expected += digests[common:]

    def close(self):
        """Ends the victim's process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process = None


def percentile(waits):
    """Returns the 99th percentile."""
    ordered = sorted(waits)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
