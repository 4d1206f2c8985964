"""Opens datasets and files again and again, each in a process of its own."""

import json
import os
import signal
import sys

import forebay
import victim
from fault_process import end_with


def again_and_again(attempt):
    """Repeats `attempt` until this process is killed."""
    while True:
        try:
            attempt()
        except forebay.ForebayError:
            pass


def main(datasets, files, fields):
    """Forks a process for each dataset and each file, and then prints "opening"."""
    parent = os.getpid()
    for uri in datasets + files:
        if os.fork() != 0:
            continue
        end_with(parent, signal.SIGKILL)
        if uri in datasets:
            again_and_again(lambda: victim.photographs(
                uri, 8, **({"fields": fields} if fields else {})).close())
        else:
            again_and_again(lambda: forebay.open(uri).read())
    print(json.dumps("opening"), flush=True)
    signal.pause()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
