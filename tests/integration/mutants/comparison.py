"""Compares how Forebay and a reference read damaged files, and counts the outcomes."""

import collections
import os
import re

import numpy
import reference

COUNT = int(os.environ.get("FOREBAY_MUTANTS", "40"))
SEED = int(os.environ.get("FOREBAY_MUTANT_SEED", "1"))


def equal(a, b):
    """Returns whether two values are the same. Arrays must also have the same type and
    shape. NaN is equal to itself."""
    if isinstance(a, (list, tuple)):
        return (isinstance(b, (list, tuple)) and len(a) == len(b)
                and all(equal(x, y) for x, y in zip(a, b)))
    if isinstance(a, dict):
        return (isinstance(b, dict) and list(a) == list(b)
                and all(equal(a[key], b[key]) for key in a))
    if isinstance(a, numpy.ndarray):
        return (isinstance(b, numpy.ndarray) and a.dtype == b.dtype
                and a.shape == b.shape and a.tobytes() == b.tobytes())
    return type(a) is type(b) and a == b


def _compiled(patterns):
    return {re.compile(text, re.DOTALL): why
            for text, why in (patterns or {}).items()}


def _reason(patterns, error):
    return next((why for pattern, why in patterns.items() if pattern.search(error)),
                None)


class Comparison:
    """The outcomes of one format's mutants.

    Args:
      format_name: str, the name that is printed.
      justified: dict of reasons by regular expressions: errors that Forebay may give
        although the reference reads a value.
      tolerated: dict of reasons by regular expressions: errors of the reference in
        spite of which Forebay may give a value.
    """

    def __init__(self, format_name, justified=None, tolerated=None):
        self._format = format_name
        self._justified = _compiled(justified)
        self._tolerated = _compiled(tolerated)
        self.counts = collections.Counter()
        self.stricter = collections.Counter()  # number of files by reason
        self.looser = collections.Counter()  # number of files by reason
        self.differences = []

    def _differs(self, name, how):
        self.counts["differs"] += 1
        self.differences.append(f"{self._format} {name}: {how}")

    def add(self, name, wanted, value, error, intact=None):
        """Compares one file, and counts the outcome.

        Args:
          name: str, the file's name.
          wanted: reference.Verdict.
          value: Forebay's value, or None if there is an error.
          error: str, Forebay's error.
          intact: the value of the file's original, or None. If it is given, Forebay may
            deliver only this value where the reference refuses the file.
        """
        if wanted.state in (reference.CRASHED, reference.TOO_LARGE):
            self.counts[wanted.state] += 1
        elif wanted.state == reference.REFUSED:
            self.counts["refused by the reference"] += 1
            if not error:
                self._book_delivery(name, wanted.error,
                                    intact is None or equal(value, intact))
        else:
            self.counts["read by the reference"] += 1
            if error:
                self._book_refusal(name, error)
            elif not equal(value, wanted.value):
                self._differs(name, "another value than the reference's")
            else:
                self.counts["equal"] += 1

    def add_samples(self, name, wanted, found, refusal, intact):
        """Compares a container that both read, sample by sample, and counts the
        outcome.

        Args:
          name: str, the file's name.
          wanted: list of the reference's samples.
          found: list of Forebay's samples.
          refusal: the type of those samples that are errors.
          intact: the samples of the file's original. If the reference refuses a sample,
            Forebay may deliver only one of these.
        """
        self.counts["read by the reference"] += 1
        before = self.counts["differs"]
        refused = [sample for sample in found if isinstance(sample, refusal)]
        if len(wanted) != len(found):
            lost = [sample for sample in wanted if isinstance(sample, refusal)]
            if not (lost and refused):
                self._differs(name, f"{len(found)} samples, not {len(wanted)}")
        for number, (value, ours) in enumerate(zip(wanted, found)):
            place = f"{name}, sample {number}"
            if isinstance(value, refusal):
                if not isinstance(ours, refusal):
                    same = any(equal(ours, one) for one in intact)
                    self._book_delivery(place, value.error, same)
            elif isinstance(ours, refusal):
                self._book_refusal(place, ours.error)
            elif not equal(value, ours):
                self._differs(place, f"{ours!r:.80}, not {value!r:.80}")
                break
        if self.counts["differs"] == before:
            self.counts["equal"] += 1

    def _book_delivery(self, name, error, same):
        why = _reason(self._tolerated, error)
        if why is None or not same:
            how = "delivered" if same else "delivered, damaged"
            self._differs(name, f"{how}; the reference: {error}")
        else:
            self.looser[why] += 1

    def _book_refusal(self, name, error):
        why = _reason(self._justified, error)
        if why is None:
            self._differs(name, f"read by the reference; {error}")
        else:
            self.stricter[why] += 1

    def report(self):
        """Returns a line with the counts."""
        parts = [f"{count} {what}" for what, count in sorted(self.counts.items())]
        parts += [f"{count} refused: {why}" for why, count in
                  sorted(self.stricter.items())]
        parts += [f"{count} delivered: {why}" for why, count in
                  sorted(self.looser.items())]
        return f"{self._format}, seed {SEED}: " + ", ".join(parts)

    def check(self):
        """Prints the report.

        Raises:
          AssertionError: Forebay reads some files differently; the error names them.
        """
        print(self.report())
        assert not self.differences, "\n".join((self.report(), *self.differences))
