"""The command `inspect`, of forebayctl and of `python -m forebay`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import List

from .. import _system_error, errors
from .inspection import inspect

_OK, _FAILED, _NO_DAEMON, _INTERRUPTED = 0, 1, 3, 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="inspect", description="Says what is in a dataset, and how to read it.",
        epilog="Exit code: 0 done, 1 failed or broken samples, 2 bad command line, "
               "3 no daemon, 130 interrupted.")
    parser.add_argument("uri", metavar="URI", help="a folder, a file, or several by "
                        "braces and wildcards; on this host, gs://, s3://, "
                        "hdfs:// or https://")
    parser.add_argument("--fields", metavar="A,B", help="the fields to look at, of "
                        "formats that have a choice; guessed if not given")
    parser.add_argument("--extra-root", metavar="DIR", action="append", default=[],
                        dest="extra_roots", help="a folder that links in the dataset "
                        "may lead to; may be given several times")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--verify", action="store_true",
                        help="read every sample, and list what is broken")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="a PNG file to write: a contact sheet of samples")
    parser.add_argument("--show", type=int, default=20, metavar="N",
                        help="broken samples to list at most; default 20")
    return parser


def main(arguments: List[str], program: str = "inspect") -> int:
    """Runs the command, and returns its exit code.

    Args:
      program: the name with which messages begin.
    """
    args = _parser().parse_args(arguments)
    try:
        return _run(args)
    except errors.ForebayError as error:
        print(f"{program}: {_printable(str(error))}", file=sys.stderr)
        return _NO_DAEMON if isinstance(error, errors.DaemonUnavailable) else _FAILED
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # Python would report the same error when it ends
        return _FAILED
    except OSError as error:  # without a file name, the error concerns standard output
        print(f"{program}: {error.filename or 'cannot write'}: "
              f"{_system_error.reason(error)}", file=sys.stderr)
        sys.stderr.close()
        return _FAILED


def _run(args) -> int:
    fields = (None if args.fields is None else
              [name.strip() for name in args.fields.split(",")])
    if args.output and not os.path.isdir(os.path.dirname(args.output) or "."):
        raise errors.NotFound(f"{args.output} cannot be written: its folder is not "
                              "there")
    found = inspect(args.uri, fields=fields, verify=args.verify,
                    extra_roots=args.extra_roots,
                    most_failures=max(args.show, 0))
    if args.json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        print(_printable(str(found)))
    if sys.stdout is not None:
        sys.stdout.flush()
    if args.output:
        _save(found, args.output)
        if not args.json:
            print(f"\n{_printable(args.output)}: a contact sheet", flush=True)
    verified = found.verification
    if verified is None or verified.is_complete and not verified.broken:
        return _OK
    return _FAILED if verified.is_complete else _INTERRUPTED


def _save(found, path):
    try:
        found.save(path)
    except (OSError, ValueError) as error:
        why = _system_error.reason(error) if isinstance(error, OSError) else error
        raise errors.ForebayError(f"{path} cannot be written: {why}") from None


def _printable(text: str) -> str:
    """Replaces characters that would move the cursor, or that the terminal cannot
    show."""
    safe = "".join(c if c == "\n" or c.isprintable() else "?" for c in text)
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"  # stdout may be closed
    return safe.encode(encoding, "replace").decode(encoding)
