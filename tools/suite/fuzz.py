"""Runs the fuzz targets of tests/fuzz for long; coverage guides the inputs.

Inputs that reach new code are kept in .cache/fuzz/NAME/corpus, and used by the next
run. At its end, a run drops the kept inputs that reach nothing more than the others.
Inputs that fail go to .cache/fuzz/NAME/failed, and the messages about them to
.cache/fuzz/NAME/run.log.
For each target, the table says how often it was executed in this run. The table also
says how many edges of the program's control flow all inputs together reach, and how
many edges there are.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache" / "fuzz"
SUFFIX = "_fuzz_test"
# The environment of targets. Its options make the sanitizers' reports name functions.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="allow_addr2line=1",
                   UBSAN_OPTIONS="print_stacktrace=1")


@dataclasses.dataclass
class Result:
    """The result of a target's run."""
    name: str
    executions: int = 0
    seconds: float = 0
    edges: int = 0
    all_edges: int = 0
    inputs: int = 0
    failure: str = ""


def folder_of_programs():
    """Returns the folder in which the build puts the targets."""
    told = subprocess.run(
        ["bazel", "info", "--config=fuzz", "--ui_event_filters=-info",
         "bazel-bin"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return pathlib.Path(told.stdout.decode().strip()) / "tests" / "fuzz"


def _number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


class Target:
    """A fuzz target: its program, and the folders of its inputs."""

    def __init__(self, name, programs):
        self.name = name
        self._program = programs / (name + SUFFIX)
        self._options = (programs / f"{name}_options.txt").read_text().split()
        self._seeds = (programs / f"{name}_seeds.txt").read_text()
        self._corpus = CACHE / name / "corpus"
        self._failed = CACHE / name / "failed"

    def _run(self, log, *arguments):
        """Runs the program, with output to `log`. Returns exit code and output."""
        with open(log, "wb") as output:
            code = subprocess.run(
                [self._program, *self._options, *arguments], cwd=ROOT,
                env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT).returncode
        return code, log.read_text("utf-8", "replace")

    def run(self, seconds):
        """Runs the target for `seconds`, then reduces the inputs that it keeps."""
        for folder in (self._corpus, self._failed):
            folder.mkdir(parents=True, exist_ok=True)
        result = Result(self.name)
        begin = time.monotonic()
        code, text = self._run(
            CACHE / self.name / "run.log", f"-max_total_time={seconds}",
            f"-artifact_prefix={self._failed}/", "-print_final_stats=1",
            f"-seed_inputs={self._seeds}", self._corpus)
        result.seconds = time.monotonic() - begin
        result.executions = _number(r"number_of_executed_units: (\d+)", text)
        if code != 0:
            named = re.findall(r"Test unit written to (\S+)", text)
            result.failure = named[-1] if named else f"exit code {code}"
            return result
        self._reduce()
        _, text = self._run(CACHE / self.name / "coverage.log", "-runs=0",
                            self._corpus)
        result.edges = _number(r"\bcov: (\d+)", text)
        result.all_edges = _number(r"PC tables? \((\d+) PCs\)", text)
        result.inputs = len(list(self._corpus.iterdir()))
        return result

    def _reduce(self):
        fresh = CACHE / self.name / "fresh"
        seeds = CACHE / self.name / "seeds"
        for folder in (fresh, seeds):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for number, path in enumerate(self._seeds.split(",")):
            shutil.copyfile(ROOT / path, seeds / str(number))
        code, _ = self._run(CACHE / self.name / "merge.log", "-merge=1", fresh,
                            seeds, self._corpus)
        if code == 0:
            shutil.rmtree(self._corpus)
            fresh.rename(self._corpus)
        shutil.rmtree(seeds)


def _print(result):
    if result.failure:
        print(f"{result.name:<18} FAILED {result.failure}", flush=True)
        return
    print(f"{result.name:<18} {result.executions:>12,} {result.seconds:>7.0f} "
          f"{result.edges:>7,} {result.all_edges:>8,} {result.inputs:>7,}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tools/fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, metavar="N",
                        help="of CPU time, shared by the targets alike "
                        "(default: 30)")
    parser.add_argument("--jobs", type=int, metavar="N",
                        default=len(os.sched_getaffinity(0)),
                        help="targets at a time (default: one a CPU)")
    parser.add_argument("name", nargs="*",
                        help="targets whose name contains one of these")
    args = parser.parse_args()

    programs = folder_of_programs()
    names = [path.name[:-len(SUFFIX)]
             for path in sorted(programs.glob("*" + SUFFIX))
             if (ROOT / "tests" / "fuzz" / (path.name + ".cc")).exists()]
    names = [name for name in names
             if not args.name or any(part in name for part in args.name)]
    if not names:
        parser.error("no target has such a name")
    seconds = max(1, round(args.minutes * 60 / len(names)))
    print(f"{'TARGET':<18} {'EXECUTIONS':>12} {'SECONDS':>7} {'EDGES':>7} "
          f"{'OF':>8} {'INPUTS':>7}", flush=True)
    results = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = [pool.submit(Target(name, programs).run, seconds)
                   for name in names]
        for done in concurrent.futures.as_completed(running):
            results.append(done.result())
            _print(results[-1])
    failed = [result for result in results if result.failure]
    print(f"{sum(result.executions for result in results):,} executions of "
          f"{len(results)} targets in "
          f"{sum(result.seconds for result in results) / 60:.1f} minutes, "
          f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
