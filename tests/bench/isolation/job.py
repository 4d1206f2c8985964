"""A job that suffers from a fault, or burdens others.

Its standard input has lines of JSON. "read" makes it read until "rest" comes. It
answers "reading" once it has a batch, and "resting" when it rests. Errors are expected
meanwhile, for example because the source is away: after an error the job opens its
loader anew.
"""

import json
import os
import select
import signal
import sys

import forebay
import victim
from forebay import transforms as T
from made_by_python import Hanging


def heavy(uri, batch_size, **options):
    """A loader whose images take much CPU: resized to many pixels, with changed
    colors."""
    return forebay.DataLoader(
        uri, batch_size=batch_size, shuffle=True, framework="numpy",
        sharing="off", autostart=False, transform=T.Compose([
            T.Resize((1024, 1024)), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.ToImage()]),
        **options)


def arrays(uri, batch_size, **options):
    """A loader of arrays without transforms."""
    return forebay.DataLoader(uri, batch_size=batch_size, shuffle=True,
                              framework="numpy", sharing="off", autostart=False,
                              **options)


def hanging(uri, batch_size, while_exists, **options):
    """A loader of samples whose code hangs while a file exists."""
    return forebay.DataLoader(
        Hanging(uri, while_exists), batch_size=batch_size, num_workers=2,
        framework="numpy", autostart=False, **options)


OPENERS = {"photographs": victim.photographs, "python": victim.made_by_python,
           "heavy": heavy, "arrays": arrays, "hanging": hanging}


def stop_before_forking(flag):
    """While the file `flag` exists, each host of workers stops itself, as by SIGSTOP,
    when it is about to fork its first worker."""
    trainer = os.getpid()
    forks = 0

    def stop():
        nonlocal forks
        if os.getpid() == trainer:
            return
        forks += 1
        # The first fork is of a process that examines a sample.
        if forks > 1 and os.path.exists(flag):
            os.kill(os.getpid(), signal.SIGSTOP)

    os.register_at_fork(before=stop)


def ordered():
    """Returns whether a line of standard input is waiting."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def read(loader):
    """Reads epoch after epoch until a line comes."""
    said = False
    while not ordered():
        for _ in loader:
            if not said:
                print(json.dumps("reading"), flush=True)
                said = True
            if ordered():
                return


def main(kind, options, stopped_while=None):
    """Obeys the lines of standard input until its end."""
    if stopped_while is not None:
        stop_before_forking(stopped_while)
    loader = None
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        while json.loads(line) == "read" and not ordered():
            try:
                if loader is None:
                    loader = OPENERS[kind](**options)
                read(loader)
            except forebay.ForebayError:
                loader = None
        if json.loads(line) == "rest":
            print(json.dumps("resting"), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)
