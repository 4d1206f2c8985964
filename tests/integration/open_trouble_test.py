"""Files of forebay.open while the file changes, the daemon leaves, the process forks,
or threads and signals interfere."""

import concurrent.futures
import gc
import os
import pickle
import random
import signal
import threading

import pytest

import forebay
from forebay import _object_session
from opened_files import MIB, make_files
from raw_session import in_child
from trouble import descriptors, memory_used, until

SIZES = [1, 70_000, MIB, 3 * MIB, 9 * MIB + 77]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of random bytes, by their sizes. Tests must not change them."""
    return make_files(tmp_path_factory.mktemp("files"), SIZES)


@pytest.fixture
def large(files):
    return files[SIZES[-1]]


@pytest.mark.parametrize("change", ["replaced", "written", "truncated", "removed",
                                    "appended"])
def test_a_file_that_changes_is_an_error(daemon, files, tmp_path, change):
    path = tmp_path / "changing"
    content = files[3 * MIB].read_bytes()
    path.write_bytes(content)
    file, kept = forebay.open(path), forebay.open(path)
    assert file.read(100) == content[:100]
    if change == "replaced":
        (tmp_path / "new").write_bytes(content[::-1])
        os.rename(tmp_path / "new", path)
    elif change == "removed":
        path.unlink()
    else:
        with open(path, "r+b") as there:
            if change == "truncated":
                there.truncate(MIB)
            elif change == "appended":
                there.seek(0, os.SEEK_END)
                there.write(b"more")
            else:
                there.write(b"other")
    for one in (file, kept):
        one.seek(2 * MIB)
        with pytest.raises(forebay.FileChanged,
                           match="was changed, replaced or removed") as caught:
            one.read(10)
        assert isinstance(caught.value, OSError)
        assert isinstance(caught.value, forebay.StateError)
        assert str(path.parent) in str(caught.value)
    if change != "removed":
        assert forebay.open(path).read() == path.read_bytes()


def test_goes_on_after_a_restart_of_the_daemon(daemon, large):
    expected = large.read_bytes()
    idle = forebay.open(large)
    with forebay.open(large) as file:
        # The file is read in sequence, so blocks were requested ahead.
        found = [file.read(MIB // 2) for _ in range(7)]
        daemon.stop(signal.SIGKILL)
        daemon.start()
        found += iter(lambda: file.read(MIB // 2), b"")
        assert b"".join(found) == expected
    assert idle.read(10) == expected[:10]
    daemon.stop(signal.SIGKILL)
    starter = threading.Timer(0.3, daemon.start)
    starter.start()
    assert idle.read() == expected[10:]
    starter.join()


def test_without_a_daemon(tmp_path, files, monkeypatch):
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0")
    with pytest.raises(forebay.DaemonUnavailable):
        forebay.open(files[1])


def test_a_forked_child_goes_on_by_itself(daemon, large):
    expected = large.read_bytes()
    with forebay.open(large) as file:
        begin = b"".join(file.read(MIB // 2) for _ in range(5))

        def child():
            assert file.read() == expected[len(begin):]
            assert forebay.open(large).read(7) == expected[:7]

        assert in_child(child) == 0
        assert in_child(file.close) == 0
        assert begin + file.read() == expected


def test_threads(daemon, files):
    def read(seed):
        chance = random.Random(seed)
        for _ in range(15):
            path = chance.choice(list(files.values()))
            with forebay.open(path) as file:
                begin = chance.randint(0, file.size)
                file.seek(begin)
                assert file.read(MIB) == path.read_bytes()[begin:begin + MIB]
        return True

    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        assert all(threads.map(read, range(24)))
    # Several threads read one file. Each byte goes to one of them.
    with forebay.open(files[SIZES[-1]]) as file, \
            concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: len(file.read(10_007)), range(2000)))
        assert sum(found) == file.size


def test_pickled_it_is_opened_again(daemon, large):
    with forebay.open(large, block_size=65536) as file:
        file.seek(MIB)
        again = pickle.loads(pickle.dumps(file))
        assert again.tell() == MIB and again.read() == file.read()


def test_many_files_one_after_another_leave_nothing(daemon, tmp_path):
    paths = [tmp_path / str(number) for number in range(100)]
    for path in paths:
        path.write_bytes(path.name.encode() * 99)
    forebay.open(paths[0]).read()
    gc.collect()
    before, memory = descriptors(daemon), memory_used(daemon)
    ours = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        for number, path in enumerate(paths):
            file = forebay.open(path)
            if number % 3:  # every third file is dropped without being read or closed
                assert file.read() == path.name.encode() * 99
    del file
    assert len(os.listdir("/proc/self/fd")) == ours
    kept = descriptors(daemon)
    # The daemon may keep open the folder from which it has read.
    assert sum((kept - before).values()) <= 1
    assert memory_used(daemon) <= memory + 2 * MIB


def test_many_files_at_once(daemon, large):
    expected = large.read_bytes()
    files = [forebay.open(large) for _ in range(2 * _object_session.MAX_KEPT)]
    for begin in range(0, 6 * MIB, MIB // 2):
        for file in files:
            assert file.read(MIB // 2) == expected[begin:begin + MIB // 2]
    assert descriptors(daemon)["session.sock"] <= _object_session.MAX_KEPT + 5
    del files, file
    until(lambda: descriptors(daemon)["session.sock"] <= 4,
          "the sessions of dropped files end")


def test_an_interrupted_read_harms_no_later_one(daemon, large, monkeypatch):
    expected = large.read_bytes()

    class Stop(Exception):
        """An exception that a signal handler may raise."""

    def stop(*_):
        raise Stop

    file = forebay.open(large)
    previous = signal.signal(signal.SIGALRM, stop)
    try:
        for number in range(30):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002 * (number + 1))
                while True:
                    file.seek(0)
                    file.read()
            except Stop:
                pass
            file.seek(number)
            assert file.read(3 * MIB) == expected[number:number + 3 * MIB]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
