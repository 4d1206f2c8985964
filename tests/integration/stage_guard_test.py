"""Workers can write to a slot only while they have a task for it. Code that writes
later, or elsewhere, damages no batch."""

import ctypes
import faulthandler
import os
import pathlib
import re
import sys
import threading
import time

import pytest
import torch
import torchvision.transforms as V
from torchvision.datasets import ImageFolder

import forebay
from code_in_pipeline_test import albumentations
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

SAMPLES = 300
SLOW = 40
pytestmark = pytest.mark.filterwarnings("ignore:without a counterpart")


def slots():
    """Returns each mapping of a slot in this process: the address of its last byte, and
    its access."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return [(int(end, 16) - 1, access) for end, access in re.findall(
        r"^\w+-(\w+) (\S+) .*forebay-slot", maps, re.MULTILINE)]


def workers_slots():
    """Returns the number of slots that this process has mapped as workers do. A trainer
    maps slots as private memory, which processes that its code forks may have, too."""
    return sum(access.endswith("s") for _, access in slots())


def access_at(address):
    """Returns the access of the mapping at an address."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        span, access = line.split()[:2]
        first, end = (int(bound, 16) for bound in span.split("-"))
        if first <= address < end:
            return access
    return ""


class Honest(torch.utils.data.Dataset):
    """Samples that take some time, and tell how many slots were mapped and writable
    meanwhile."""

    def __len__(self):
        return SLOW

    def __getitem__(self, number):
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        access = [access for _, access in slots()]
        return number, len(access), access.count("rw-s")


@pytest.mark.parametrize("collate_fn", [None, list])
def test_one_slot_can_be_written_while_a_sample_is_made(collate_fn):
    with forebay.DataLoader(Honest(), 8, num_workers=2,
                            collate_fn=collate_fn) as loader:
        rows = [tuple(map(int, row)) for batch in loader
                for row in (batch if collate_fn else zip(*batch))]
    assert [number for number, _, _ in rows] == list(range(SLOW))
    # The first sample is made before there are slots, to learn how large they must be.
    assert all(mapped >= 2 and writable >= 1 for _, mapped, writable in rows[1:])
    # If protecting a slot once takes long, the worker protects others later.
    assert [writable for _, _, writable in rows].count(1) > SLOW / 2


class Forking(torch.utils.data.Dataset):
    """Samples that tell how many slots their worker has mapped, and a child that it
    forks."""

    def __len__(self):
        return SLOW

    def __getitem__(self, number):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, b"%d" % workers_slots())
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(write)
        with open(read, "rb") as said:
            return workers_slots(), int(said.read())


def test_what_code_forks_has_no_slots():
    with forebay.DataLoader(Forking(), 8, num_workers=2, collate_fn=list) as loader:
        for mapped, of_child in (sample for batch in loader for sample in batch):
            assert mapped >= 2 and of_child == 0


class Late(torch.utils.data.Dataset):
    """A dataset that writes once into a slot for which its worker has no task."""

    def __init__(self, once, by_thread):
        self.once = str(once)
        self.by_thread = by_thread

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        if number >= 40 and not os.path.exists(self.once):
            if self.by_thread:
                thread = threading.Thread(target=self.spoil)
                thread.start()
                thread.join()
            else:
                self.spoil()
        return number, torch.full((100,), number)

    def spoil(self):
        """Damages a slot that is protected. Does nothing if this worker has not
        protected any yet."""
        for last, access in slots():
            if access == "r--s":
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
                ctypes.memmove(last, last, 1)


@pytest.fixture
def no_faulthandler():
    """Disables pytest's fault handler, which would write past the capture of stderr."""
    enabled = faulthandler.is_enabled()
    faulthandler.disable()
    yield
    if enabled:
        faulthandler.enable(sys.__stderr__)


@pytest.mark.parametrize("by_thread", [False, True])
@pytest.mark.parametrize("collate_fn", [None, list])
def test_a_write_elsewhere_ends_the_worker_and_spoils_nothing(
        tmp_path, capfd, no_faulthandler, collate_fn, by_thread):
    with forebay.DataLoader(Late(tmp_path / "once", by_thread), 16,
                            num_workers=1, collate_fn=collate_fn) as loader:
        rows = [row for batch in loader
                for row in (batch if collate_fn else zip(*batch))]
    assert (tmp_path / "once").exists()
    assert [int(number) for number, _ in rows] == list(range(SAMPLES))
    for number, values in rows:
        assert torch.equal(values, torch.full((100,), int(number)))
    assert "in spoil" in said_of_fault(capfd), "the place in the code"


def said_of_fault(capfd):
    """Returns what a worker and its host print about a fault, once they have."""
    said = []

    def is_told():
        said.append(capfd.readouterr().err)
        return re.search(r"forebay: worker process \d+ was killed by SIGSEGV",
                         "".join(said))

    until(is_told, "the fault is told", lambda: "".join(said))
    return "".join(said)


def test_ops_may_change_their_image_in_place(photos):
    def invert(image):
        pixels = image.numpy()
        pixels[...] = 255 - pixels
        return image

    def read(*ops):
        with forebay.DataLoader(
                ImageFolder(str(photos), V.Compose(
                    [V.Resize((40, 40)), V.PILToTensor(), *ops])),
                batch_size=7, num_workers=2) as loader:
            return {int(number): image.clone() for batch in loader
                    for number, image in zip(batch.sample_ids, batch.image)}

    plain, inverted = read(), read(invert)
    assert plain.keys() == inverted.keys() and plain
    for number, image in plain.items():
        assert torch.equal(255 - image, inverted[number])


def test_an_image_that_an_op_kept_cannot_be_changed_later(photos, tmp_path, capfd):
    kept = []

    def keep(op, *, image):
        kept.append(image)
        first = kept[0].ctypes.data // 4096 * 4096
        if ("r--s" in access_at(first) and
                not (tmp_path / "once").exists()):
            (tmp_path / "once").touch()
            kept[0][...] = 0
        return {"image": image}

    transform = albumentations("Compose", transforms=[
        albumentations("Resize", height=48, width=48, interpolation=1),
        albumentations("Keep", keep), albumentations("ToTensorV2")], processors={})
    with forebay.DataLoader(str(photos), batch_size=7, num_workers=1,
                            transform=transform, framework="torch") as loader:
        assert sum(len(batch.label) for batch in loader)
    said_of_fault(capfd)
