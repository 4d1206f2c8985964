"""A trainer that runs out of descriptors, memory or processes gets an error that says
so and what to do."""

import contextlib
import errno
import itertools
import os
import re
import resource
import subprocess
import sys

import numpy
import pytest
import torchvision

import forebay
from forebay import transforms as T
from forebay import _system_error
from trouble import CROP

# The error's class, what failed, and why.
SAID = (r"\w+: .*\S: Too many open files "
        r"\(the limit of this process is {}: ulimit -n raises it\).*")
MOST = 20  # descriptors; more than any of these ways takes
# This runs in a process of its own, whose descriptors are all closed at its end, even
# if it fails.
CHILD = """
import sys
import client_exhaustion_test
client_exhaustion_test.starve(*sys.argv[1:])
"""


class Numbers:
    """A dataset whose samples only Python can make."""

    def __len__(self):
        return 8

    def __getitem__(self, number):
        return numpy.full(3, number)


class Odd(Numbers):
    """A dataset whose batches have to be pickled."""

    def __getitem__(self, number):
        return "odd" * number


def brighter(image):
    return image


def workers(photos):
    with forebay.DataLoader(Numbers(), batch_size=4, num_workers=1) as loader:
        assert len(list(loader)) == 2


def pickled(photos):
    with forebay.DataLoader(Odd(), batch_size=4, num_workers=1) as loader:
        assert len(list(loader)) == 2


def in_pipeline(photos):
    transform = torchvision.transforms.Compose([
        torchvision.transforms.CenterCrop(CROP), brighter,
        torchvision.transforms.ToTensor()])
    with forebay.DataLoader(photos, batch_size=16, transform=transform) as loader:
        assert len(list(loader)) == 3


def native(photos):
    with forebay.DataLoader(photos, batch_size=16,
                            transform=T.CenterCrop(CROP)) as loader:
        assert len(list(loader)) == 3


def samples(photos):
    assert len(forebay.Dataset(photos)) == 48
    assert len(forebay.Dataset(photos)[0]) == 2


def opened(photos):
    with forebay.open(photos / "beach" / "000.jpg") as file:
        assert file.read(2) == b"\xff\xd8"


def inspected(photos):
    assert forebay.inspect(photos, verify=True).samples == 48


def shared(photos, count=itertools.count()):
    key = f"{os.getpid()}-{next(count)}"
    with forebay.share(lambda: iter(range(3)), key=key) as batches:
        assert list(batches) == [0, 1, 2]


WAYS = [workers, pickled, in_pipeline, native, samples, opened, inspected, shared]


@contextlib.contextmanager
def free_descriptors(count):
    """Leaves this process only `count` descriptors to open. Yields the limit."""
    used = {int(name) for name in os.listdir("/proc/self/fd")
            # Without the listing's own descriptor.
            if os.path.exists(f"/proc/self/fd/{name}")}
    free = (number for number in itertools.count() if number not in used)
    limit = next(itertools.islice(free, count, None))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield limit
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def starve(name, photos):
    """Tries one way with 0 free descriptors, with 1, 2, and so on. Prints each
    error."""
    import pathlib
    way, photos = globals()[name], pathlib.Path(photos)
    way(photos)  # imports what the way needs
    for count in range(MOST):
        with free_descriptors(count) as limit:
            try:
                way(photos)
                said = "ok"
            except (forebay.ForebayError, OSError) as error:
                said = f"{type(error).__name__}: {error}"
        print(count, limit, said.replace("\n", " | "), flush=True)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_each_lack_of_descriptors_has_its_reason(shared_daemon, photos, way):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, way.__name__, str(photos)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == MOST and lines[-1].endswith(" ok"), done.stdout
    failed = [line.split(" ", 2) for line in lines if not line.endswith(" ok")]
    assert failed
    wrong = [f"{count} {said}" for count, limit, said in failed
             if not re.fullmatch(SAID.format(limit), said)]
    assert not wrong, "\n".join(wrong)


def test_a_remedy_is_named_for_each_lack():
    for number, remedy in ((errno.EMFILE, "ulimit -n raises it"),
                           (errno.ENFILE, "fs.file-max"), (errno.ENOMEM, "ulimit -v"),
                           (errno.ENOSPC, "free some space there"),
                           (errno.EAGAIN, "ulimit -u"),
                           (errno.EACCES, f"for user id {os.geteuid()}")):
        error = OSError(number, os.strerror(number))
        said = _system_error.reason(error)
        assert said.startswith(os.strerror(number)) and remedy in said
        if number == errno.EACCES:
            continue
        with pytest.raises(forebay.ResourceExhausted) as caught:
            with _system_error.exhaustion_of("nothing works"):
                raise error
        assert str(caught.value) == f"nothing works: {said}"
    for error in (OSError("no disk"), FileNotFoundError(errno.ENOENT, "none")):
        with pytest.raises(OSError) as caught:
            with _system_error.exhaustion_of("nothing works"):
                raise error
        assert caught.value is error
