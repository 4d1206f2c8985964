"""Runs the benches of tests/bench and prints their figures.

Beside every figure stands the reference: the figure of a peer or of a physical limit,
measured in the same run. "ratio" is value / reference. The first row of a bench is its
main result.
"""

import argparse
import importlib
import json
import pathlib
import sys
import time

import results_page

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "bench"
KEYS = {"bench", "metric", "value", "reference", "ratio", "unit"}
MORE_KEYS = {"digests"}  # keys that only some rows have
# The benches that run only when they are named, because they install packages that no
# other bench needs.
ONLY_BY_NAME = {"peers"}


def names():
    """Returns the names of the benches: each is a module bench_NAME.py."""
    return [path.stem[len("bench_"):]
            for path in sorted(FOLDER.glob("bench_*.py"))]


def run(name):
    """Runs one bench, checks its rows and returns them."""
    rows = importlib.import_module(f"bench_{name}").run()
    for row in rows:
        if set(row) - MORE_KEYS != KEYS or row["bench"] != name:
            raise ValueError(f"bench {name}: a row is malformed: {row}")
    return rows


def table(name):
    """Returns the Markdown table that a bench made in its run; None if it has none."""
    make = getattr(importlib.import_module(f"bench_{name}"), "table", None)
    return make() if make else None


def _print(rows):
    for row in rows:
        print(f"  {row['metric']:<48} {row['value']:>12,.5g}"
              f" / {row['reference']:<12,.5g} {row['unit']:<14}"
              f" = {row['ratio']:.4g}", flush=True)


def main():
    known = names()
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("name", nargs="*", help=", ".join(known))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="writes all rows")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE",
                        help="replaces the sections of these benches in a page")
    args = parser.parse_args()
    unknown = [name for name in args.name if name not in known]
    if unknown:
        parser.error(f"no bench {unknown[0]}; there are: {', '.join(known)}")

    sys.path[:0] = [str(FOLDER), str(ROOT / "tools" / "trial")]
    rows, sections, failed = [], {}, False
    measured = results_page.origin(ROOT)
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
        sections[name] = results_page.section(name, found, measured, table(name))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    if args.markdown:
        page = args.markdown.read_text() if args.markdown.exists() else "# Results\n"
        args.markdown.write_text(results_page.replaced(page, sections))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
