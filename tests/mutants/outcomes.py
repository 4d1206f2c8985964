"""Outcomes of mutants: printed as lines, stored as JSON, and compared with an earlier
run's."""

import collections
import json
import os
import sys
import time

import cc_mutants

KILLED, SURVIVED, INVALID = "killed", "survived", "invalid"


class Outcome:
    """Whether the tests noticed a mutant."""

    def __init__(self, mutant, verdict, targets, begin=None, killed_by=None,
                 timed_out=False):
        """`targets` are the tests that were run; `begin` is a time of
        time.monotonic()."""
        self.mutant = mutant
        self.verdict = verdict
        self.targets = targets
        self.killed_by = killed_by
        self.timed_out = timed_out
        self.seconds = 0 if begin is None else round(time.monotonic() - begin, 1)

    def __str__(self):
        return f"{self.mutant}: {self.said()}"

    def said(self):
        """Returns the verdict, and the reason for it."""
        if self.verdict == KILLED:
            late = " (timed out)" if self.timed_out else ""
            return f"killed by {self.killed_by}{late}"
        if self.verdict == SURVIVED and not self.targets:
            return "survived (no test to ask)"
        return self.verdict

    def to_json(self):
        return dict(self.mutant._asdict(), outcome=self.verdict,
                    killed_by=self.killed_by, timed_out=self.timed_out,
                    targets=self.targets, seconds=self.seconds)

    @classmethod
    def from_json(cls, entry):
        """Raises KeyError if the entry lacks a field."""
        mutant = cc_mutants.Mutant(**{name: entry[name]
                                      for name in cc_mutants.Mutant._fields})
        return cls(mutant, entry["outcome"], entry["targets"],
                   killed_by=entry["killed_by"], timed_out=entry["timed_out"])


def summary(outcomes):
    """Returns the counts by verdict, and the rate: killed mutants / mutants that
    compile."""
    counts = collections.Counter(outcome.verdict for outcome in outcomes)
    tried = counts[KILLED] + counts[SURVIVED]
    untested = sum(outcome.verdict == SURVIVED and not outcome.targets
                   for outcome in outcomes)
    return {"killed": counts[KILLED], "survived": counts[SURVIVED],
            "invalid": counts[INVALID], "untested": untested,
            "kill_rate": round(counts[KILLED] / tried, 3) if tried else None}


def summary_line(outcomes):
    """Returns the last line of a run's output."""
    figures = summary(outcomes)
    untested = ""
    if figures["untested"]:
        untested = f" ({figures['untested']} of them without a test to ask)"
    rate = figures["kill_rate"]
    return (f"{figures['killed']} killed, {figures['survived']} survived{untested}, "
            f"{figures['invalid']} invalid; kill rate "
            f"{'unknown' if rate is None else format(rate, '.0%')}")


def write(path, outcomes, **facts):
    """Writes a JSON file atomically."""
    partial = f"{path}.part"
    with open(partial, "w") as file:
        json.dump({**facts, **summary(outcomes),
                   "mutants": [outcome.to_json() for outcome in outcomes]},
                  file, indent=1)
        file.write("\n")
    os.replace(partial, path)


def load(path):
    """Returns the outcomes in a file that write() wrote. Exits if the file has none."""
    try:
        with open(path) as file:
            return [Outcome.from_json(entry) for entry in json.load(file)["mutants"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"tests/mutants/run: {path} holds no outcomes: {error!r}")


def misfits(outcomes, sources):
    """Returns the mutants that do not fit the sources, which are texts by their
    paths."""
    found = []
    for outcome in outcomes:
        mutant = outcome.mutant
        text = sources.get(mutant.file, "")
        line = text.count("\n", 0, mutant.start) + 1
        if not text.startswith(mutant.old, mutant.start) or line != mutant.line:
            found.append(mutant)
    return found


def lost(before, now):
    """Returns pairs of outcomes of one mutant that was killed before and is not killed
    now."""
    killed = {outcome.mutant: outcome for outcome in before
              if outcome.verdict == KILLED}
    return [(killed[outcome.mutant], outcome) for outcome in now
            if outcome.mutant in killed and outcome.verdict != KILLED]
