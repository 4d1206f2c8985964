"""Helpers of tests with faults: waits, reports of the daemon, and another job that the
fault must not affect."""

import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy
import pytest

import forebay
from forebay import transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREBAYCTL = os.environ.get(
    "FOREBAY_CTL", str(ROOT / "bazel-bin/tools/forebayctl/forebayctl"))
PATIENCE = 150.0  # seconds after which a wait counts as a hang
CROP = (72, 96)  # the photographs' own size, so a crop leaves pixels unchanged


def refusing(open_dataset):
    """Returns a function that opens and reads a dataset, which must fail, and returns
    the text of the error.

    Args:
      open_dataset: opens a loader of a dataset, with the arguments of
        forebay.DataLoader.
    """
    def refusal(error, dataset, **arguments):
        with pytest.raises(error) as caught:
            with open_dataset(dataset, **arguments) as loader:
                list(loader)
        return str(caught.value)
    return refusal


def spoil(path, at, bits=1):
    """Flips bits of a byte of a file."""
    content = bytearray(path.read_bytes())
    content[at] ^= bits
    path.write_bytes(content)


def pause(seconds):
    """Lets time pass, as a trainer that computes does. Use it for a pace, never to wait
    for an event."""
    time.sleep(seconds)


def until(condition, what, details=str):
    """Waits until `condition()` is true, and returns its value.

    Raises:
      AssertionError: the condition was false for PATIENCE seconds; the error has `what`
        and `details()`.
    """
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"in vain: {what} {details()}"
        time.sleep(0.02)


def ctl(daemon, *arguments):
    """Runs forebayctl, and returns its JSON, parsed."""
    said = subprocess.run(
        [FOREBAYCTL, "--runtime-dir", str(daemon.runtime_dir), "--json",
         *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=PATIENCE)
    assert said.stdout, said.stderr.decode()
    return json.loads(said.stdout)


def slot_bytes(daemon):
    """Returns the bytes of all slots that the daemon holds."""
    return int(ctl(daemon, "status")["memory_slots"])


def memory_used(daemon):
    """Returns the bytes that are reserved in the daemon's memory budget."""
    return int(ctl(daemon, "status")["memory_used"])


def descriptors(daemon):
    """Returns how many descriptors of each kind the daemon has open, in a
    collections.Counter. The kinds are paths, "session.sock" and "admin.sock" for
    connections, and otherwise the kernel's names, such as "anon_inode:[eventfd]"."""
    folder = pathlib.Path(f"/proc/{daemon.process.pid}/fd")
    links = []
    for entry in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry))
    with open("/proc/net/unix") as listed:
        sockets = [line.split(maxsplit=7) for line in listed]
    # The fields are ... State Inode Path; the state 03 is a connection.
    connected = {f"socket:[{fields[6]}]": os.path.basename(fields[7].strip())
                 for fields in sockets
                 if len(fields) > 7 and fields[5] == "03"}
    found = collections.Counter()
    for link in links:
        # Drops the number, which differs for each socket or pipe.
        kind = link if link.startswith("anon_inode:") else link.split(":[")[0]
        found[connected.get(link, kind)] += 1
    return found


def idle_descriptors(daemon):
    """Waits until the daemon has closed all connections, and then returns
    descriptors()."""
    def found():
        kinds = descriptors(daemon)
        # A connection that is closed during the look counts as a socket of another
        # kind.
        return (not kinds["session.sock"] and not kinds["admin.sock"] and
                kinds == descriptors(daemon) and kinds)

    return until(found, "the connections of former clients are closed")


@contextlib.contextmanager
def nothing_left_behind(daemon):
    """Checks that everything that is opened in the `with` block is closed at its end,
    and all memory released. No client may be connected before. Yields a function that
    waits for that."""
    before = idle_descriptors(daemon)
    memory_before = memory_used(daemon)

    def wait():
        until(lambda: descriptors(daemon) == before,
              "the daemon closes what it opened",
              lambda: f"(too many: {dict(descriptors(daemon) - before)}, "
              f"missing: {dict(before - descriptors(daemon))})")
        until(lambda: memory_used(daemon) == memory_before,
              "the daemon gives its memory back")
        assert slot_bytes(daemon) == 0

    yield wait
    wait()


def open_loader(folder, **arguments):
    """Opens a loader of whole photographs as NumPy arrays, from the running
    daemon."""
    arguments.setdefault("framework", "numpy")
    arguments.setdefault("batch_size", 4)
    arguments.setdefault("transform", T.CenterCrop(CROP))
    return forebay.DataLoader(folder, autostart=False, **arguments)


def contents(batches):
    """Returns all images as (N, 3, H, W) uint8, and the N sample numbers."""
    images, ids = [], []
    for batch in batches:
        images.append(numpy.array(batch.image))
        ids.extend(int(i) for i in batch.sample_ids)
    return numpy.concatenate(images), ids


@contextlib.contextmanager
def neighbour(photos):
    """Runs another job in mid-epoch during the `with` block. The job must get the rest
    of its epoch, with the same bytes as without a fault."""
    before = os.environ.get("FOREBAY_JOB")
    os.environ["FOREBAY_JOB"] = "neighbour"
    try:
        loader = open_loader(photos, shuffle=True, name="neighbour")
    finally:
        del os.environ["FOREBAY_JOB"]
        if before is not None:
            os.environ["FOREBAY_JOB"] = before
    with loader:
        whole, order = contents(loader)
        loader.set_epoch(0)
        iterator = iter(loader)
        begin, begin_order = contents([next(iterator)])
        yield
        rest, rest_order = contents(iterator)
    assert begin_order + rest_order == order
    numpy.testing.assert_array_equal(numpy.concatenate([begin, rest]), whole)


def settle(folder):
    """Waits until the daemon would store an index of `folder`. A file system's clock is
    coarse, so the daemon stores only indexes of datasets that are more than two seconds
    old."""
    newest = max(path.stat().st_ctime
                 for path in [folder, *folder.rglob("*")] if path.is_dir())
    until(lambda: time.time() > newest + 2, "the past")


def run_until_error(loader, error):
    """Reads an epoch that must end with `error`. Returns the error's text, and the
    numbers of the samples before it."""
    ids = []
    try:
        for batch in loader:
            ids.extend(int(i) for i in batch.sample_ids)
    except error as caught:
        return str(caught), ids
    raise AssertionError(f"no {error.__name__}: the epoch went through")


@contextlib.contextmanager
def trainer(script, *arguments, **environment):
    """Runs a Python script, which can use this module, in a process. Kills the process
    at the end of the `with` block."""
    head = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "from trouble import *\n")
    process = subprocess.Popen(
        [sys.executable, "-c", head + script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=dict(os.environ, **environment))
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def expect_line(process, line):
    """Waits for the next line of a trainer, which must be `line`."""
    said = process.stdout.readline().decode().strip()
    assert said == line, f"{said!r} instead of {line!r}"


def read_epochs(*trainers):
    """Makes all trainers, each of which waits for a line, read an epoch at the same
    time."""
    for process in trainers:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in trainers:
        expect_line(process, "read")
