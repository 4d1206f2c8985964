"""Runs trainers for benches, each in a process that inherits nothing."""

import json
import pathlib
import subprocess

from daemon import ROOT

FOLDER = pathlib.Path(__file__).resolve().parent


def call(script, environment, **options):
    """Runs a script of this folder in a process of its own.

    Args:
      script: the file's name.
      environment: dict of variables, such as Daemon.environment.
      **options: the arguments of the script's `measure`, of JSON types.

    Returns:
      The script's return value.

    Raises:
      RuntimeError: the script failed; the message has its output.
    """
    done = subprocess.run(
        ["/usr/bin/python3", str(FOLDER / script), json.dumps(options)],
        env=dict(environment, PYTHONDONTWRITEBYTECODE="1"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise RuntimeError(f"{script} failed:\n{tail}")
    return json.loads(done.stdout.splitlines()[-1])


def program(name):
    """Returns the path of a C++ program of this folder."""
    return str(ROOT / "bazel-bin" / "tests" / "bench" / name)
