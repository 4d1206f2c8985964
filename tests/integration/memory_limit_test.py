"""The daemon's memory stays below `memory.limit`, whatever the dataset. A request that
needs more is refused with an error that says so."""

import contextlib
import os
import pathlib
import re
import threading

import numpy
import pytest

import forebay
from forebay import transforms as T
from daemons import serving
from raw_session import (INVALID_ARGUMENT, RESOURCE_EXHAUSTED, RawSession,
                         loader_spec, memfd, messages, sealed, text)
from trouble import memory_used, until

MIB = 1 << 20
LIMIT = 53 * MIB  # the daemon itself takes 33 MiB of it
FILES = 100_000
ROWS = 60_000
IMAGE = "0/0.jpg"
LIST = 16  # bytes that a list of samples takes for each sample


def resident(daemon):
    """Returns the bytes of anonymous and shared memory that the daemon has now."""
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return sum(int(kib) << 10 for kib in
               re.findall(r"Rss(?:Anon|Shmem):\s+(\d+) kB", status))


class Watch:
    """Records the daemon's largest memory use from now on, beyond its present use."""

    def __init__(self, daemon):
        self._daemon = daemon
        self._before = resident(daemon)
        self._largest = self._before
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        self._thread.join()

    def _look(self):
        while not self._ended.wait(0.002):
            self._largest = max(self._largest, resident(self._daemon))

    @property
    def largest(self):
        self._largest = max(self._largest, resident(self._daemon))
        return self._largest - self._before


@contextlib.contextmanager
def raw(daemon):
    """Opens a raw session, and sends the greeting."""
    with RawSession(daemon.runtime_dir / "session.sock") as opened:
        yield opened.greet()


@contextlib.contextmanager
def limited(folder, limit=LIMIT):
    """Runs a daemon with the memory limit `limit`."""
    config = folder / "forebayd.toml"
    config.write_text(f"[memory]\nlimit = '{limit >> 20}MiB'\n[cpu]\nworkers = 2\n"
                      "[image]\nscratch_limit = '4MiB'\n[cache]\nmemory = '0'\n")
    with serving(folder, "--config", str(config)) as daemon:
        yield daemon


@pytest.fixture
def daemon(tmp_path):
    with limited(tmp_path) as started:
        yield started


@pytest.fixture
def session(daemon):
    with raw(daemon) as opened:
        yield opened


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder with one image, which no test decodes."""
    folder = tmp_path_factory.mktemp("small")
    (folder / IMAGE).parent.mkdir()
    (folder / IMAGE).write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def many_files(tmp_path_factory):
    """A class folder of FILES files that have long names."""
    folder = tmp_path_factory.mktemp("many") / "data"
    (folder / "a").mkdir(parents=True)
    where = os.open(folder / "a", os.O_RDONLY)
    name = "x" * 200
    for number in range(FILES):
        os.close(os.open(f"{number:08d}{name}.jpg", os.O_CREAT, dir_fd=where))
    os.close(where)
    return folder


def refused(daemon, opening, *named):
    """Checks that `opening` is refused for lack of memory. The limit holds meanwhile,
    and all memory is released afterwards."""
    used = memory_used(daemon)
    with Watch(daemon) as watch:
        with pytest.raises(forebay.ResourceExhausted) as caught:
            opening()
    for word in (*named, "memory.limit", f"of {LIMIT >> 20} MiB"):
        assert str(word) in str(caught.value)
    assert watch.largest <= LIMIT
    until(lambda: memory_used(daemon) == used, "all is given back")


def held(daemon, opening, least):
    """Opens a dataset that fits, and checks that its memory is counted while it is
    open."""
    used = memory_used(daemon)
    with Watch(daemon) as watch:
        dataset = opening()
    assert watch.largest <= LIMIT
    assert memory_used(daemon) >= used + least
    return dataset


def write_table(path, rows):
    columns = "p" + "".join(f",c{number}" for number in range(4))
    with open(path, "w") as file:
        if path.suffix == ".csv":
            print(columns, file=file)
        for row in range(rows):
            cells = [f"{row:06d}" + "x" * 100] * 4
            if path.suffix == ".csv":
                print(IMAGE, *cells, sep=",", file=file)
            else:
                more = ", ".join(f'"c{number}": "{cell}"'
                                 for number, cell in enumerate(cells))
                print(f'{{"p": "{IMAGE}", {more}}}', file=file)


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_tables(daemon, small, name):
    table = small / name

    def opening():
        return forebay.Dataset(forebay.manifest(
            table, image="p", **{f"c{n}": f"c{n}" for n in range(4)}),
            decode=False)

    write_table(table, ROWS // 20)
    dataset = held(daemon, opening, 4 * 100 * ROWS // 20)
    assert len(dataset) == ROWS // 20
    # The file alone would fit, but not together with the file's index.
    write_table(table, ROWS // 2)
    refused(daemon, opening, small, name)
    write_table(table, ROWS)
    refused(daemon, opening, small, name)


def test_a_table_of_one_cell(daemon, small):
    """A text as long as the file is not copied before the copy is counted."""
    table = small / "cell.csv"
    table.write_text(f"p,c\n{IMAGE},{'x' * (12 * MIB)}\n")
    refused(daemon, lambda: forebay.Dataset(
        forebay.manifest(table, image="p", c="c"), decode=False), small)


def test_folders(daemon, many_files):
    refused(daemon, lambda: forebay.Dataset(many_files, decode=False),
            many_files, "its index")


def test_lists_of_shards(daemon, small):
    shards = str(small / "{000000..999999}.tar")
    refused(daemon, lambda: forebay.Dataset(shards, fields=("jpg",),
                                            decode=False), small, "shards")


def reader_spec(dataset):
    spec = messages()[0].LoaderSpec()
    spec.dataset.CopyFrom(dataset)
    return spec


def lists(session, folder, numbers):
    """Opens a subset by a list of `numbers` samples. Returns the answer."""
    job, session_messages = messages()
    subset = job.DatasetSpec()
    part = subset.subset.part
    part.CopyFrom(loader_spec(folder).dataset)
    part.descriptors = 1
    root = os.open(folder, os.O_RDONLY)
    content = sealed(b"", size=8 * numbers)
    try:
        return session.call([root, content],
                            open_reader=session_messages.OpenReader(
                                spec=reader_spec(subset)))[0]
    finally:
        os.close(root)
        os.close(content)


def test_subsets(daemon, session, small):
    with Watch(daemon) as watch:
        opened = lists(session, small, 500_000)
        assert opened.dataset_size == 500_000, opened
        error = lists(session, small, 1_500_000)
    assert error.code == RESOURCE_EXHAUSTED and "list" in text(error)
    assert watch.largest <= LIMIT


def test_arrays(daemon, session):
    job, session_messages = messages()

    def arrays(samples):
        dataset = job.DatasetSpec()
        dataset.arrays.samples = samples
        dataset.arrays.fields.add(name=b"label", kind=job.ArrayField.LABEL)
        content = sealed(b"", size=8 * samples)
        try:
            return session.call([content],
                                open_reader=session_messages.OpenReader(
                                    spec=reader_spec(dataset)))[0]
        finally:
            os.close(content)

    with Watch(daemon) as watch:
        opened = arrays(MIB)
        assert opened.dataset_size == MIB, opened
        error = arrays(3 * MIB)
    assert error.code == RESOURCE_EXHAUSTED and "arrays" in text(error)
    assert watch.largest <= LIMIT


def test_coordinated_orders(tmp_path, small):
    """Coordinated orders take 8 bytes for each sample."""
    job, session_messages = messages()
    spec = loader_spec(batch_size=1)
    spec.sampler.order = job.SamplerSpec.COORDINATED
    spec.dataset.Clear()
    part = spec.dataset.subset.part
    part.CopyFrom(loader_spec(small).dataset)
    part.descriptors = 1

    def opened(session, samples):
        root = os.open(small, os.O_RDONLY)
        content = sealed(b"", size=8 * samples)
        answer, fds = session.call(
            [root, content],
            open_loader=session_messages.OpenLoader(spec=spec))
        for fd in (root, content, *fds):
            os.close(fd)
        return answer

    with limited(tmp_path, 160 * MIB) as daemon:
        with raw(daemon) as session:
            used = []
            for samples in (1, 1, 400_001):
                answer = opened(session, samples)
                assert answer.dataset_size == samples, answer
                used.append(memory_used(daemon))
            more = (used[2] - used[1]) - (used[1] - used[0])
            assert more >= 400_000 * (8 + LIST)
            with Watch(daemon) as watch:
                error = opened(session, 3_500_000)
        assert error.code == RESOURCE_EXHAUSTED, error
        assert "the coordinated order" in text(error)
        assert watch.largest <= 160 * MIB


def test_closed_loaders_have_what_is_held_of_them_alone(daemon, photos):
    used = memory_used(daemon)
    held = []
    for seed in range(6):
        with forebay.DataLoader(photos, batch_size=1, seed=seed, shuffle=True,
                                transform=T.CenterCrop((32, 32)),
                                framework="numpy", autostart=False) as loader:
            batch = next(iter(loader))
            held.append((batch, batch.image.copy()))
    until(lambda: memory_used(daemon) <= used + MIB, "memory is given back")
    for batch, before in held:
        numpy.testing.assert_array_equal(batch.image, before)
    held.clear()
    del batch
    until(lambda: memory_used(daemon) == used, "all is given back")


def test_specs_of_nothing(daemon, session):
    """A part takes two bytes in a message, but some hundred bytes after parsing."""
    job, session_messages = messages()
    part = job.LoaderSpec(
        dataset=job.DatasetSpec(v3_parts=[job.DatasetSpec()])).SerializeToString()
    content = memfd(part * (16 * MIB // len(part)))
    try:
        with Watch(daemon) as watch:
            for opening in ({"open_loader": session_messages.OpenLoader(
                    spec_in_memfd=True)},
                            {"open_reader": session_messages.OpenReader(
                                spec_in_memfd=True)}):
                error, _ = session.call([content], **opening)
                assert error.code in (INVALID_ARGUMENT, RESOURCE_EXHAUSTED)
                assert "spec" in text(error)
    finally:
        os.close(content)
    assert watch.largest <= LIMIT // 2


def test_what_is_freed_goes_back(tmp_path, many_files):
    """A client opens a dataset and leaves, again and again. Afterwards only one index
    is in use, which is kept for a while."""
    job, session_messages = messages()
    request = session_messages.OpenReader(spec=reader_spec(
        loader_spec(many_files).dataset))

    def open_and_leave(daemon):
        with raw(daemon) as session:
            root = os.open(many_files, os.O_RDONLY)
            answer, _ = session.call([root], open_reader=request)
            os.close(root)
            assert answer.dataset_size == FILES, answer

    most = 256 * MIB // 8  # of all kept indexes
    with limited(tmp_path, 256 * MIB) as daemon:
        used, before = memory_used(daemon), resident(daemon)
        left = []
        for _ in range(8):
            open_and_leave(daemon)
            until(lambda: memory_used(daemon) - used <= most, "the rest is given back")
            left.append((resident(daemon) - before) >> 20)
        # malloc keeps some memory at the end of each of its eight arenas.
        assert max(left) <= 16 + (most >> 20), left
