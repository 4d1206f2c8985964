"""Measures how many of the faults that it plants into the product the C++ tests
notice."""

import argparse
import pathlib
import signal
import sys
import time

import bazel
import mutant_draw
import nearest_tests
import outcomes
import scratch_tree
import trial

ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(
        prog="tests/mutants/run", description=__doc__,
        epilog="The exit status is 1 if a replay loses a mutant that the earlier run "
        "killed.")
    parser.add_argument("--count", type=int, default=40, help="of mutants (40)")
    parser.add_argument("--seed", default="1",
                        help="a seed and equal sources give equal mutants (1)")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT,
                        help="the checkout, which is only read (this one)")
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path("/var/tmp/forebay-mutants"),
                        help="folder of the copy that faults are planted into and of "
                        "Bazel's outputs, kept for the next run (%(default)s)")
    parser.add_argument("--targets", type=int, default=6,
                        help="tests asked about a mutant at most (6)")
    parser.add_argument("--jobs", type=int, default=2, help="of Bazel (2)")
    parser.add_argument("--timeout", type=int, default=120,
                        help="seconds of a test, after which it has failed (120)")
    parser.add_argument("--json", type=pathlib.Path, help="file for all outcomes")
    parser.add_argument("--replay", type=pathlib.Path, metavar="JSON",
                        help="try the mutants of an earlier run's file instead, and "
                        "print those that are no longer killed")
    parser.add_argument("--list", action="store_true",
                        help="print the mutants and try none")
    return parser.parse_args()


def sources_of(tree):
    """Returns the product's sources in a checkout: texts by their paths."""
    return {name: scratch_tree.read(tree / name) for name in scratch_tree.listed(tree)
            if mutant_draw.is_product(name)}


class Run:
    """The outcomes of a run. Each is printed and written when it is known."""

    def __init__(self, args, try_mutant):
        self._path = args.json
        self._facts = {"tree": str(args.tree)}
        if args.replay:
            self._facts["replay"] = str(args.replay)
        else:
            self._facts.update(seed=args.seed, count=args.count)
        self._try = try_mutant
        self.outcomes = []

    def try_one(self, mutant):
        """Tries a mutant. Returns whether it compiles."""
        outcome = self._try(mutant)
        self.outcomes.append(outcome)
        print(outcome, flush=True)
        if self._path:
            outcomes.write(self._path, self.outcomes, **self._facts)
        return outcome.verdict != outcomes.INVALID


def print_mutants(args, before, draw):
    """Prints the mutants that would be tried if all compiled. Returns an exit
    status."""
    if before is None:
        draw.each(args.count, lambda mutant: print(mutant) or True)
    else:
        print(*(outcome.mutant for outcome in before), sep="\n")
    return 0


def compare(before, now, unsound):
    """Prints the mutants that were killed before and now survive. Also tells if the
    test that killed one is left out now. Returns an exit status."""
    found = outcomes.lost(before, now)
    for earlier, outcome in found:
        why = ", its test is left out" if earlier.killed_by in unsound else ""
        print(f"LOST {outcome.mutant}: {earlier.said()} before, "
              f"{outcome.verdict} now{why}")
    print(f"{len(found)} lost; before: {outcomes.summary_line(before)}")
    return 1 if found else 0


def measure(args, before, draw):
    """Tries all mutants in the copy. Returns an exit status."""
    begin = time.monotonic()
    tree = scratch_tree.ScratchTree(args.tree, args.work / "tree")
    runner = bazel.Bazel(tree.folder, args.work / "output", args.jobs, args.timeout)
    try:
        tests = nearest_tests.NearestTests(
            runner.query(nearest_tests.GRAPH, "--output=graph", "--nograph:factored",
                         "--noimplicit_deps", "--notool_deps"),
            runner.query(nearest_tests.TESTS))
        tries = trial.Trial(tree, runner, tests, args.targets)
        run = Run(args, tries.run)
        if before is None:
            draw.each(args.count, run.try_one)
        else:
            for outcome in before:
                run.try_one(outcome.mutant)
    finally:
        runner.shut_down()
    for target, verdict in tries.unsound.items():
        print(f"left out, for it fails without a fault: {target} ({verdict})")
    status = compare(before, run.outcomes, tries.unsound) if before is not None else 0
    print(f"{outcomes.summary_line(run.outcomes)}; "
          f"{time.monotonic() - begin:.0f} s")
    return status


def leave(number, _):
    sys.exit(128 + number)


def main():
    args = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    if args.count < 1:
        sys.exit(f"tests/mutants/run: --count {args.count} is not positive")
    args.tree = args.tree.resolve()
    if not args.tree.is_dir():
        sys.exit(f"tests/mutants/run: {args.tree} is not a folder")
    args.work = args.work.resolve()
    sources = sources_of(args.tree)
    before = draw = None
    if args.replay:
        before = [outcome for outcome in outcomes.load(args.replay)
                  if outcome.verdict != outcomes.INVALID]
        misfits = outcomes.misfits(before, sources)
        if misfits:
            sys.exit("\n".join(map(str, misfits)) + f"\ntests/mutants/run: {args.tree} "
                     f"has other sources than {args.replay} was made of: "
                     "the mutants above do not fit")
    else:
        draw = mutant_draw.Draw(sources, args.seed)
    if args.list:
        return print_mutants(args, before, draw)
    try:
        with scratch_tree.locked(args.work):
            return measure(args, before, draw)
    except BlockingIOError:
        sys.exit(f"tests/mutants/run: another run uses {args.work}: "
                 "give another --work")
    except KeyboardInterrupt:
        sys.exit("tests/mutants/run: interrupted; the copy is restored")


if __name__ == "__main__":
    sys.exit(main())
