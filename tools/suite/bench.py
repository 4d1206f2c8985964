"""Runs the benches of tests/bench and prints their figures.

Every figure stands beside a peer or a physical limit that was measured in the
same run; "ratio" is value / reference. The first row of a bench is its
headline.
"""

import argparse
import importlib
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "bench"
KEYS = {"bench", "metric", "value", "reference", "ratio", "unit"}
MORE_KEYS = {"digests"}  # of some rows
# These run only when they are named: they install what nothing else needs.
ONLY_BY_NAME = {"peers"}


def names():
    """Returns the names of the benches: each is a module bench_NAME.py."""
    return [path.stem[len("bench_"):]
            for path in sorted(FOLDER.glob("bench_*.py"))]


def run(name):
    """Runs one bench. Returns its rows, checked."""
    rows = importlib.import_module(f"bench_{name}").run()
    for row in rows:
        if set(row) - MORE_KEYS != KEYS or row["bench"] != name:
            raise ValueError(f"bench {name}: a row is malformed: {row}")
    return rows


def _print(rows):
    for row in rows:
        print(f"  {row['metric']:<48} {row['value']:>12,.5g}"
              f" / {row['reference']:<12,.5g} {row['unit']:<14}"
              f" = {row['ratio']:.4g}", flush=True)


def main():
    known = names()
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("name", nargs="*", help=", ".join(known))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    unknown = [name for name in args.name if name not in known]
    if unknown:
        parser.error(f"no bench {unknown[0]}; there are: {', '.join(known)}")

    sys.path[:0] = [str(FOLDER), str(ROOT / "tools" / "trial")]
    rows, failed = [], False
    for name in args.name or [one for one in known if one not in ONLY_BY_NAME]:
        begin = time.monotonic()
        print(f"{name}:", flush=True)
        try:
            found = run(name)
        except Exception as error:  # the other benches go on
            print(f"  failed: {type(error).__name__}: {error}", flush=True)
            failed = True
            continue
        _print(found)
        print(f"  ({time.monotonic() - begin:.0f} s)", flush=True)
        rows += found
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
