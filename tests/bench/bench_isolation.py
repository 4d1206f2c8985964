"""Measures whether a fault of one job slows other jobs down.

Each case has a fault that comes and goes, and victims that use nothing of what hangs.
The victims are jobs that open datasets, that read cached photographs, that read
uncached photographs, and that run workers of their own code. Each victim is measured in
turns with and without the fault, and the two rates are compared. $FOREBAY_BENCH_CASES
selects the cases whose names contain one of its texts.
"""

import contextlib
import os
import signal
import statistics
import sys
import time

from daemon import daemon, process_cpu_nanos
from figures import row
from isolation import burdens, faults
from isolation.data import Data
from isolation.victims import Victim, percentile

ROUNDS = 5
BAR = 0.90
OPENING_BAR = 2.0  # an opening may take this many times its time alone
WAIT_BAR = 20.0  # a p99 wait may be this many ms above the one alone
# The number of jobs and the batch size of the faults of mounts.
LOADS = {"a batch of 256": (1, 256), "eight jobs": (8, 32)}

# Each case's fault, and the arguments of its constructor.
CASES = {"nothing": (faults.NoFault,)}
for _name, _kind in (("hung mount", faults.Mounted), ("hung link", faults.Linked),
                     ("hung sub-mount", faults.SubMounted)):
    for _load, _arguments in LOADS.items():
        CASES[f"{_name}, {_load}"] = (_kind, *_arguments)
CASES.update({
    "hung web server": (faults.Hosted, "stop"),
    "dead web server": (faults.Hosted, "die"),
    "stalled bucket": (faults.Hosted, "stall", "gs"),
    "64 opens of a hung host": (faults.HostOpeners,),
    "64 opens of a hung mount": (faults.MountOpeners,),
    "paused jobs": (burdens.Paused,),
    "paused jobs at rest": (burdens.PausedResting,),
    "paused jobs before they fork": (burdens.PausedBeforeForking,),
    "paused owner of shared workers": (burdens.PausedOwner,),
    "user code that hangs": (burdens.HangingCode,),
    "a heavy job": (burdens.Heavy,),
    "eight heavy jobs": (burdens.EightHeavy,),
    "a heavy job, a quarter of the CPU": (burdens.HeavyAndHogs,),
    "an image of 200 megapixels": (burdens.Huge,),
    "samples of 64 MiB": (burdens.Large,),
})


class Case:
    """A case: a fault, its victims and their rates."""

    def __init__(self, name, data):
        self.name = name
        self._data = data
        self._fault = self._server = self._stack = None
        self._victims, self._units = {}, {}
        self.contends, self._due = False, None
        # Key: (victim, whether the fault was present). Value: a list of one rate for
        # each turn.
        self.rates = {}
        self.needs = []  # CPUs that a light victim took in each turn alone
        # The seconds of each turn, by the same keys.
        self.waits, self.times = {}, {}

    def run(self):
        """Measures all victims in turns."""
        try:
            for number in range(ROUNDS):
                for beside in ((False, True) if number % 2 == 0 else (True, False)):
                    self._turn(beside)
        finally:
            self._stop()

    def _start(self):
        kind, *arguments = CASES[self.name]
        fault = kind(self._data, *arguments)
        self._stack = contextlib.ExitStack()
        self._fault = fault
        self._server = self._stack.enter_context(
            daemon(fault.config, fault.environment))
        # The fault must end first, because the daemon cannot end while a mount hangs.
        self._stack.callback(fault.close)
        self.contends = fault.contends
        self._due = fault.due() if fault.contends else None
        fault.start(self._server)
        for name in fault.victims:
            victim = Victim(name, self._data, self._server)
            self._victims[name] = victim
            self._stack.callback(victim.close)
            victim.measure("warm")
            self._units[name] = victim.kind.unit

    def _stop(self):
        if self._stack is not None:
            self._stack.close()
        self._stack = None

    def _turn(self, beside):
        if self._stack is None:
            self._start()
        hung = self._hung()
        try:
            if beside:
                self._fault.begin()
            for name, victim in self._victims.items():
                turns = self.rates.setdefault((name, beside), [])
                began, spent = time.monotonic(), process_cpu_nanos(self._server.pid)
                turns.append(victim.measure(beside))
                if name == "light" and not beside:
                    self.needs.append(
                        (process_cpu_nanos(self._server.pid) - spent) / 1e9
                        / (time.monotonic() - began))
                for ours, found in ((self.waits, victim.waits),
                                    (self.times, victim.times)):
                    ours.setdefault((name, beside), []).extend(
                        found.pop(beside, ()))
            if beside:
                self._fault.end()
        except TimeoutError as error:
            print(f"    {self.name}: {error}", file=sys.stderr, flush=True)
            self._stop()
        else:
            if self._hung() > hung:
                self._stop()  # the next turn starts everything anew

    def _hung(self):
        return sum(victim.hung for victim in self._victims.values())

    def rows(self):
        """Returns the rows: each victim's rate beside the fault / alone. If the other
        jobs take all the CPU that they get, only the light victim is measured. That one
        is due its rate alone, but at most its share of the CPU."""
        found = []
        for name, unit in self._units.items():
            due, what = 1.0, "alone"
            if self.contends:
                if name != "light":
                    continue
                due = min(1.0, self._due / statistics.median(self.needs))
                what = "alone, or its due"
            found.append(row(
                "isolation", f"{self.name}: {name} / {what}",
                statistics.median(self.rates[name, True]),
                statistics.median(self.rates[name, False]) * due, unit))
        return found


def chosen():
    """Returns the names of the cases to run."""
    wanted = os.environ.get("FOREBAY_BENCH_CASES", "").split(",")
    return [name for name in CASES if any(part in name for part in wanted)]


def run():
    """Returns the rows: the worst victim, all victims, openings, waits."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows, openings, waits = [], [], []
    with Data() as data:
        data.warm()
        for name in chosen():
            missing = CASES[name][0].missing()
            if missing:
                print(f"    {name}: not measured: {missing}", flush=True)
                continue
            case = Case(name, data)
            case.run()
            rows += case.rows()
            for each in rows[-len(case.rows()):]:
                print(f"    {each['metric']:<52} {each['ratio']:.3f}", flush=True)
            openings += _openings(case)
            waits += _waits(case)
    faulty = [each for each in rows if not each["metric"].startswith("nothing:")]
    worst = min(faulty or rows, key=lambda each: each["ratio"])
    return [dict(worst, metric=f"the worst of all, {worst['metric']}"),
            *_over_all(faulty), *rows, *openings, *waits]


def _over_all(rows):
    """Returns the rows: the median of a victim's rates beside all faults / alone. The
    median averages out the noise of single cases, which the case "nothing" shows."""
    ratios = {}
    for each in rows:
        victim = each["metric"].partition(": ")[2].partition(" / ")[0]
        ratios.setdefault(victim, []).append(each["ratio"])
    return [row("isolation", f"{victim}: the median of {len(found)} faults / alone",
                statistics.median(found), 1.0, "of its rate")
            for victim, found in ratios.items()]


def _openings(case):
    """Returns the row: the time of an opening / the time allowed."""
    if ("open", True) not in case.times:
        return []
    alone = statistics.median(case.times["open", False])
    beside = statistics.median(case.times["open", True])
    return [row("isolation", f"{case.name}: opening / twice its time alone",
                beside * 1e3, OPENING_BAR * alone * 1e3, "ms")]


def _waits(case):
    """Returns the rows: how much longer a light job waits than alone / the time
    allowed."""
    if ("light", True) not in case.waits:
        return []
    alone, beside = (case.waits["light", each] for each in (False, True))
    return [row("isolation", f"{case.name}: p99 wait of a light job above alone / bar",
                (percentile(beside) - percentile(alone)) * 1e3, WAIT_BAR, "ms"),
            row("isolation", f"{case.name}: worst wait of a light job / alone",
                max(beside) * 1e3, max(alone) * 1e3, "ms")]
