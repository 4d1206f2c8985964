"""Slots that can be written only while a task names them."""

import fcntl
import mmap
import os
import signal

import pytest

from forebay._stage.slots import Guard, Slot

F_ADD_SEALS, F_SEAL_FUTURE_WRITE = 1033, 0x10
HUGE = 2 << 20


@pytest.fixture
def slot():
    made = []

    def make(size=4096, offsets=(0,)):
        fd = os.memfd_create("slot", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        made.append(Slot.map(fd, size, offsets))
        # The daemon seals a slot in this way after the worker pool has mapped it.
        fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE)
        os.close(fd)
        return made[-1]

    yield make
    for one in made:
        one.unmap()


def fate_of_writing(slot):
    """Returns the signal that ends a process which writes to the slot, or 0 if there is
    none."""
    pid = os.fork()
    if pid == 0:
        slot.memory[1] = 7
        os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def test_a_slot_can_be_read_and_not_written(slot):
    one = slot()
    assert one.memory[1] == 0 and len(one.memory) == 4096
    assert fate_of_writing(one) == signal.SIGSEGV


def test_a_child_has_no_slot_that_is_kept_from_it(slot):
    one, other = slot(), slot(HUGE)
    for each in (one, other):
        each.protect(writable=True)
        assert fate_of_writing(each) == 0
        each.keep_from_children()
        assert fate_of_writing(each) == signal.SIGSEGV
        each.memory[1] = 8


def test_what_is_written_in_a_task_is_shared(slot):
    one, other = slot(), slot()
    guard = Guard({3: one, 4: other})
    guard.begin([3])
    assert fate_of_writing(one) == 0
    assert one.memory[1] == 7
    assert fate_of_writing(other) == signal.SIGSEGV
    guard.close()
    assert not guard.is_open
    assert fate_of_writing(one) == signal.SIGSEGV


def test_slots_with_room_for_huge_pages_begin_where_one_can(slot):
    for size in (HUGE, HUGE + 5000, 5 * HUGE):
        one = slot(size)
        assert one.address % HUGE == 0
        assert one.size == -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def test_a_slot_that_cannot_be_mapped_is_an_error():
    with pytest.raises(OSError):
        Slot.map(-1, 4096, ())


class FakeSlot:
    """A slot that takes time to protect."""

    def __init__(self, clock, seconds):
        self._clock = clock
        self._seconds = seconds
        self.writable = False

    def protect(self, writable):
        self._clock[0] += self._seconds
        self.writable = writable


def protected(task_seconds, seconds, tasks):
    """Returns how many of the tasks left their slot read-only."""
    now = [0.0]
    slot = FakeSlot(now, seconds)
    guard = Guard({1: slot}, lambda: now[0])
    count = 0
    for _ in range(tasks):
        guard.begin([1])
        assert slot.writable
        now[0] += task_seconds
        guard.end()
        assert guard.is_open == slot.writable
        count += not slot.writable
    return count


def test_each_task_ends_with_its_slot_protected_where_that_is_cheap():
    assert protected(task_seconds=1e-2, seconds=5e-5, tasks=100) == 100


def test_protecting_takes_no_more_than_its_part_of_the_time():
    found = protected(task_seconds=1e-3, seconds=1e-4, tasks=1000)
    # Two hundredths of one second, at 0.2 ms for each protection.
    assert 80 <= found <= 110


def test_a_slot_that_nobody_has_is_an_error(slot):
    with pytest.raises(KeyError):
        Guard({1: slot()}).begin([2])
