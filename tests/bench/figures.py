"""Rows of figures, and the medians of measurements taken in turns."""

import os
import statistics

CORES = len(os.sched_getaffinity(0))


def row(bench, metric, value, reference, unit):
    """Returns a figure beside the value that it is compared with.

    Args:
      bench: the bench's name.
      metric: what was measured, and against what.
      value: Forebay's figure.
      reference: the peer's figure, or the limit, in the same unit; not 0.
      unit: the unit of value and reference.

    Returns:
      A dict of bench, metric, value, reference, ratio, unit.
    """
    return {"bench": bench, "metric": metric, "value": value,
            "reference": reference, "ratio": value / reference, "unit": unit}


def in_turns(rounds, *measures):
    """Calls several measures one after the other, for a number of rounds.

    A machine that gets slower or faster meanwhile thus affects all measures alike.
    Every second round calls the measures in reverse order, because some disks favour
    the one that follows another.

    Args:
      rounds: how often each measure is called.
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
