"""Plants mutants, and runs the tests."""

import time

import bazel
from outcomes import INVALID, KILLED, SURVIVED, Outcome


class Trial:
    """Tries mutants in a scratch tree, by the tests that are nearest to them."""

    def __init__(self, tree, runner, tests, most_targets):
        self._tree = tree
        self._bazel = runner
        self._tests = tests
        self._most_targets = most_targets
        self._sound = {}
        self.unsound = {}  # verdicts of tests that also fail without a fault

    def run(self, mutant):
        """Runs tests on a mutant, and returns its Outcome."""
        begin = time.monotonic()
        asked = []
        for target in self._tests.of(mutant.file):
            if len(asked) == self._most_targets:
                break
            if not self._sound.get(target, True):
                continue
            with self._tree.planted(mutant):
                verdict = self._bazel.test(target, faulty=True)
                if verdict in (bazel.FAILED, bazel.TIMED_OUT):
                    # A test may fail by chance, but hardly twice in a row.
                    verdict = self._bazel.test(target, faulty=True)
            if verdict == bazel.PASSED:
                asked.append(target)
                continue
            # If the test also fails without the fault, its failure proves nothing.
            if not self._is_sound(target):
                continue
            asked.append(target)
            if verdict == bazel.UNBUILT:
                return Outcome(mutant, INVALID, asked, begin)
            return Outcome(mutant, KILLED, asked, begin, killed_by=target,
                           timed_out=verdict == bazel.TIMED_OUT)
        return Outcome(mutant, SURVIVED, asked, begin)

    def _is_sound(self, target):
        if target not in self._sound:
            verdict = self._bazel.test(target, faulty=False)
            self._sound[target] = verdict == bazel.PASSED
            if verdict != bazel.PASSED:
                self.unsound[target] = verdict
        return self._sound[target]
