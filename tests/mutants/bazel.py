"""Bazel in a copy of the tree, with an output base of its own."""

import pathlib
import re
import subprocess
import sys

PASSED, UNBUILT, FAILED, TIMED_OUT = "passed", "unbuilt", "failed", "timed out"
_VERDICTS = {0: PASSED, 1: UNBUILT, 3: FAILED}
# Matches the line of Bazel's summary about a test that timed out.
_LATE = re.compile(r"^//\S+ +TIMEOUT in ", re.MULTILINE)
# The limit of a test's memory: an endless loop may allocate in each turn.
_MEMORY_BYTES = 4 << 30
_QUIET = ("--noshow_progress", "--ui_event_filters=-info,-debug",
          "--experimental_convenience_symlinks=ignore")


class Bazel:
    """Runs Bazel's commands. The file `log` has the output of the latest command."""

    def __init__(self, tree, output_base, jobs, timeout_seconds):
        self._tree = tree
        self._output_base = output_base
        self._options = [f"--jobs={jobs}", f"--test_timeout={timeout_seconds}",
                         f"--run_under=prlimit --data={_MEMORY_BYTES}",
                         "--notest_keep_going", *_QUIET]
        self.log = pathlib.Path(output_base).parent / "bazel.log"

    def query(self, expression, *options):
        """Returns the output of a query."""
        code, output = self._run("query", "--keep_going", *_QUIET[:2], *options,
                                 expression, output=subprocess.PIPE)
        if code not in (0, 3):
            self._give_up("query", code)
        return output.decode()

    def test(self, label, faulty):
        """Builds and runs a test, and returns one of the verdicts above. Results of
        faulty sources are not put into caches that others use. Cached test results are
        not used, because they may come from a time when the machine was less busy."""
        options = ["--nocache_test_results",
                   *(["--noremote_upload_local_results"] if faulty else [])]
        code, _ = self._run("test", *self._options, *options, "--", label)
        if code not in _VERDICTS:
            self._give_up(f"test {label}", code)
        if code == 3 and _LATE.search(self.log.read_text(errors="replace")):
            return TIMED_OUT
        return _VERDICTS[code]

    def shut_down(self):
        """Ends Bazel's server."""
        self._call("shutdown", stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)

    def _run(self, *arguments, output=None):
        with open(self.log, "wb") as log:
            done = self._call(*arguments, stdout=output or log, stderr=log)
        return done.returncode, done.stdout

    def _call(self, *arguments, stdout, stderr):
        return subprocess.run(
            ["bazel", f"--output_base={self._output_base}", *arguments],
            cwd=self._tree, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)

    def _give_up(self, what, code):
        tail = self.log.read_text(errors="replace")[-3000:]
        sys.exit(f"{tail}\ntests/mutants/run: bazel {what} left with exit code {code}; "
                 f"its output is in {self.log}")
