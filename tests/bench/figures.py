"""Rows of figures, medians, and measuring in turns."""

import os
import statistics

CORES = len(os.sched_getaffinity(0))


def row(bench, metric, value, reference, unit):
    """Returns a figure beside what it is compared with.

    Args:
      bench: the bench's name.
      metric: what was measured, and against what.
      value: ours.
      reference: the peer's or the limit's, in the same unit; not 0.
      unit: of both.

    Returns:
      A dict of bench, metric, value, reference, ratio, unit.
    """
    return {"bench": bench, "metric": metric, "value": value,
            "reference": reference, "ratio": value / reference, "unit": unit}


def in_turns(rounds, *measures):
    """Calls measures one after the other, again and again.

    A machine that gets slower or faster meanwhile thus treats all alike. Each
    second round goes backwards: some disks favour who comes after somebody.

    Args:
      rounds: how often each is called.
      *measures: functions without arguments that return a number.

    Returns:
      A list: the median of each measure.
    """
    found = [[] for _ in measures]
    turns = list(zip(found, measures))
    for _ in range(rounds):
        for values, measure in turns:
            values.append(measure())
        turns.reverse()
    return [statistics.median(values) for values in found]
