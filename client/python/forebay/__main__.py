"""`python -m forebay inspect URI` does the same as `forebayctl inspect URI`."""

from __future__ import annotations

import sys

from ._inspect import command


def main() -> int:
    if sys.argv[1:2] != ["inspect"]:
        print("usage: python -m forebay inspect [--json] [--verify] [-o FILE] URI",
              file=sys.stderr)
        return 2
    return command.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
