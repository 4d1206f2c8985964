"""Limits that are reached, disks that are full, and wrong settings."""

import contextlib
import itertools
import os
import pathlib
import re
import resource
import subprocess

import pytest

import forebay
from daemons import FOREBAYD, serving
from forebay import transforms as T
from raw_session import RawSession
from trouble import (PATIENCE, contents, ctl, descriptors, idle_descriptors,
                     memory_used, neighbour, open_loader, settle, until)

CGROUPS = pathlib.Path("/sys/fs/cgroup")
MIB = 1 << 20
# 4 slots of 8 images of 3 x 1024 x 1024 floats: 384 MiB.
LARGE = T.Compose([T.Resize((1024, 1024)), T.ToImage(),
                   T.ToDtype("float32", scale=True)])


def configured(folder, text):
    path = folder / "forebayd.toml"
    path.write_text(text)
    return ["--config", str(path)]


def refuse_large_batches(photos, limit):
    with neighbour(photos):
        for _ in range(2):
            with pytest.raises(forebay.ResourceExhausted) as caught:
                open_loader(photos, batch_size=8, transform=LARGE)
            assert "memory.limit" in str(caught.value)
            assert f"of {limit >> 20} MiB" in str(caught.value)
        with open_loader(photos, batch_size=2) as loader:
            assert contents(loader)[1] == list(range(48))


def test_memory_budget_spent(tmp_path, photos):
    config = configured(tmp_path, "[memory]\nlimit = '200MiB'\n")
    with serving(tmp_path, *config) as daemon:
        before = memory_used(daemon)
        refuse_large_batches(photos, 200 * MIB)
        until(lambda: memory_used(daemon) == before, "all is given back")


def test_memory_budget_spent_by_others(tmp_path, photos):
    """A loader is refused while others have used up the memory. Once there is memory
    again, the loader can be opened."""
    config = configured(tmp_path, "[memory]\nlimit = '170MiB'\n"
                        "[image]\nscratch_limit = '16MiB'\n")
    medium = T.Resize((512, 512))
    with serving(tmp_path, *config) as daemon:
        before = memory_used(daemon)
        with open_loader(photos, batch_size=24, transform=medium) as first:
            iterator = iter(first)
            next(iterator)
            with pytest.raises(forebay.ResourceExhausted) as caught:
                open_loader(photos, batch_size=24, transform=medium)
            assert "memory.limit" in str(caught.value)
            assert len(contents(iterator)[1]) == 24
            del iterator
        until(lambda: memory_used(daemon) == before, "there is room")
        with open_loader(photos, batch_size=24, transform=medium) as late:
            assert contents(late)[1] == list(range(48))


def test_memory_limit_below_what_is_needed_at_all(tmp_path):
    config = configured(tmp_path, "[memory]\nlimit = '0MiB'\n")
    said = subprocess.run([FOREBAYD, "--runtime-dir", str(tmp_path), *config],
                          stderr=subprocess.PIPE, timeout=PATIENCE)
    assert said.returncode != 0
    assert b"memory.limit" in said.stderr


def test_memory_limit_that_the_machine_does_not_have(tmp_path, photos):
    config = configured(tmp_path, "[memory]\nlimit = '99999GiB'\n")
    with serving(tmp_path, *config) as daemon:
        warning, = ctl(daemon, "status")["warnings"]
        assert warning.startswith("memory.limit is 102398976 MiB, but ")
        assert warning in daemon.log()
        with open_loader(photos) as loader:
            assert contents(loader)[1] == list(range(48))


def removed(group):
    """Returns whether a cgroup could be removed. Its processes may still be leaving."""
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


@contextlib.contextmanager
def cgroup(controller, **limits):
    """Yields the file of a new cgroup to which processes are added. Skips where no
    cgroup can be made."""
    top = CGROUPS / controller
    if not (top / "tasks").exists():
        top = CGROUPS
    group = top / f"forebay-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        for name, value in limits.items():
            path = group / name.replace("__", ".")
            if not path.exists():
                pytest.skip(f"the {controller} controller is not delegated")
            path.write_text(str(value))
        yield group / "cgroup.procs"
    finally:
        until(lambda: removed(group), f"the end of {group}")


def inside(processes):
    """Returns a command that runs another command in a cgroup."""
    return ["sh", "-c", f'echo $$ > {processes} && exec "$@"', "sh"]


def test_memory_limit_of_a_cgroup(tmp_path, photos):
    version1 = (CGROUPS / "memory").exists()
    limit = {"memory__limit_in_bytes" if version1 else "memory__max":
             400 * MIB}
    with cgroup("memory", **limit) as processes:
        with serving(tmp_path, launcher=inside(processes)) as daemon:
            status = ctl(daemon, "status")
            assert int(status["memory_limit"]) == 200 * MIB
            refuse_large_batches(photos, 200 * MIB)


def test_cpu_quota_of_a_cgroup(tmp_path, photos):
    version1 = (CGROUPS / "cpu").exists()
    quota = {"cpu__cfs_quota_us": 50_000} if version1 else {
        "cpu__max": "50000 100000"}
    with cgroup("cpu", **quota) as processes:
        with serving(tmp_path, launcher=inside(processes)) as daemon:
            assert ctl(daemon, "status")["workers"] == 1
            with open_loader(photos) as loader:
                assert contents(loader)[1] == list(range(48))


@pytest.fixture
def tiny_disk(tmp_path):
    """A directory on a file system of 16 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tiny",
         str(folder)], stderr=subprocess.PIPE)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def settled(tmp_path):
    """A dataset of many names. Its last change was so long ago that its index is stored
    on disk."""
    folder = tmp_path / "data"
    (folder / "class").mkdir(parents=True)
    for number in range(2000):
        (folder / "class" / f"{number:04d}.jpg").write_bytes(b"")
    settle(folder)
    return folder


def test_full_disk_under_the_index(tmp_path, tiny_disk, settled, photos):
    config = configured(tmp_path, f"[index]\ndirectory = '{tiny_disk}'\n")
    with serving(tmp_path, *config) as daemon:
        with neighbour(photos), open_loader(settled) as loader:
            assert len(loader.dataset) == 2000
        # The daemon goes on with the index in memory, and logs it.
        words = (f"{settled}: its index is kept in memory only: ",
                 "No space left")
        warnings = ctl(daemon, "status")["warnings"]
        assert len(warnings) == 1
        assert all(word in warnings[0] for word in words)
        doctor = ctl(daemon, "doctor")
        assert warnings[0] in str(doctor)
        assert warnings[0] in daemon.log()
        # No incomplete index file stays on the disk.
        assert {path.suffix for path in tiny_disk.iterdir()} <= {".index"}


def test_index_is_kept_where_there_is_room(tmp_path, settled):
    with serving(tmp_path) as daemon:
        with open_loader(settled) as loader:
            assert len(loader.dataset) == 2000
        status = ctl(daemon, "status")
        assert status["warnings"] == []
        assert list(pathlib.Path(status["index_directory"]).iterdir())


@pytest.mark.parametrize("text,message", [
    ("[memory]\nlimti = '1GiB'\n",
     "memory.limti: unknown key (line 2); did you mean memory.limit?"),
    ("[memroy]\nlimit = '1GiB'\n",
     "memroy: unknown key (line 1); did you mean memory?"),
    ("[memory]\nlimit = 5\n", "memory.limit must be a string (line 2)"),
    ("[memory]\nlimit = 'much'\n", "memory.limit"),
    ("[cpu]\nworkers = 2000\n", "cpu.workers"),
    ("[session]\nidle_seconds = -1\n", "session.idle_seconds"),
    ("[log]\nlevel = 'loud'\n", "log.level"),
    ("[cpu\nworkers = 2\n", "(line 1)"),
])
def test_wrong_configuration(tmp_path, text, message):
    config = configured(tmp_path, text)
    said = subprocess.run([FOREBAYD, "--runtime-dir", str(tmp_path), *config],
                          stderr=subprocess.PIPE, timeout=PATIENCE)
    assert said.returncode != 0
    lines = said.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"forebayd: {config[1]}: ")
    assert message in lines[0]


def test_missing_configuration(tmp_path):
    path = tmp_path / "nowhere.toml"
    said = subprocess.run([FOREBAYD, "--runtime-dir", str(tmp_path),
                           "--config", str(path)],
                          stderr=subprocess.PIPE, timeout=PATIENCE)
    assert said.returncode != 0
    assert said.stderr.decode() == (
        f"forebayd: {path}: No such file or directory\n")


def test_failed_start_tells_the_journal_its_priority(tmp_path):
    path = tmp_path / "nowhere.toml"
    said = subprocess.run([FOREBAYD, "--runtime-dir", str(tmp_path),
                           "--config", str(path)], stderr=subprocess.PIPE,
                          env=dict(os.environ, JOURNAL_STREAM="8:1"),
                          timeout=PATIENCE)
    assert said.stderr.decode() == (
        f"<3>forebayd: {path}: No such file or directory\n")


def test_second_daemon(tmp_path, photos):
    with serving(tmp_path) as daemon, neighbour(photos):
        said = subprocess.run(
            [FOREBAYD, "--runtime-dir", str(daemon.runtime_dir)],
            stderr=subprocess.PIPE, timeout=PATIENCE)
        assert said.returncode == 3
        assert (f"forebayd: another forebayd already serves "
                f"{daemon.runtime_dir}\n") in said.stderr.decode()


def test_runtime_directory_that_others_may_enter(tmp_path):
    tmp_path.chmod(0o755)
    said = subprocess.run([FOREBAYD, "--runtime-dir", str(tmp_path)],
                          stderr=subprocess.PIPE, timeout=PATIENCE)
    assert said.returncode != 0
    assert f"forebayd: {tmp_path} ".encode() in said.stderr


def test_more_connections_than_descriptors(tmp_path, photos):
    """Further clients wait until they are accepted. Meanwhile the daemon does not
    spin."""
    limit = ["prlimit", "--nofile=64:64"]
    with serving(tmp_path, launcher=limit) as daemon, spinning() as spinner:
        path = daemon.runtime_dir / "session.sock"
        sessions = [RawSession(path) for _ in range(80)]
        until(lambda: descriptors(daemon).total() == 64, "a full house")
        begin, end = cpu_seconds(daemon.process), cpu_seconds(spinner) + 0.5
        until(lambda: cpu_seconds(spinner) >= end, "half a second of CPU time")
        # A daemon that spins would use as much CPU time as the spinning process.
        assert cpu_seconds(daemon.process) - begin < 0.25
        for session in sessions:
            session.socket.close()
        until(lambda: not descriptors(daemon)["session.sock"], "all have gone")
        with open_loader(photos) as loader:
            assert contents(loader)[1] == list(range(48))


@contextlib.contextmanager
def spinning():
    """A process that does nothing but use CPU time."""
    process = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def free_descriptors(daemon, count):
    """Leaves the daemon only `count` descriptors to open."""
    until(lambda: not descriptors(daemon)["admin.sock"],
          "the descriptor of the last question is closed")
    pid = daemon.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(entry) for entry in os.listdir(f"/proc/{pid}/fd")}
    free = (number for number in itertools.count() if number not in used)
    # The first descriptor number that the daemon may not use.
    limit = next(itertools.islice(free, count, None))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_every_lack_of_descriptors_has_its_reason(tmp_path, photos):
    with serving(tmp_path) as daemon:
        idle = idle_descriptors(daemon)
        with open_loader(photos) as loader:
            contents(loader)
        until(lambda: descriptors(daemon) == idle, "all is quiet")
        refused = 0
        for count in range(1, 40):
            with free_descriptors(daemon, count):
                try:
                    with open_loader(photos) as loader:
                        assert contents(loader)[1] == list(range(48))
                except forebay.ForebayError as error:
                    refused += 1
                    text = str(error)
                    assert ("descriptor" in text or
                            "Too many open files" in text), text
            with open_loader(photos) as loader:
                assert contents(loader)[1] == list(range(48))
            until(lambda: descriptors(daemon) == idle, "quiet again")
        assert 0 < refused < 39


def has_read_ahead(daemon):
    """Returns whether all slots of the only loader are full and the client holds no
    batch. The daemon then reads nothing until a batch is taken and released."""
    queues = ctl(daemon, "queues")["jobs"][0]["loaders"][0]["queues"]
    return queues["slots_ready"] == queues["slots"]


def test_passing_fault_in_mid_epoch(tmp_path, photos, monkeypatch):
    """If reads fail for longer than the user waits, the epoch ends with an error. The
    next epoch is whole."""
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0")
    with serving(tmp_path) as daemon:
        with open_loader(photos, depth=1) as loader:
            iterator = iter(loader)
            begin = contents([next(iterator)])[1]
            until(lambda: has_read_ahead(daemon), "full slots")
            with free_descriptors(daemon, 0):
                with pytest.raises(forebay.SourceUnavailable) as caught:
                    for batch in iterator:
                        begin += [int(i) for i in batch.sample_ids]
            assert begin == list(range(len(begin))) and len(begin) < 48
            # The error names a sample of the batch that would have been next.
            assert any(str(caught.value).startswith(
                f"sample {number} of {photos}: {names(photos)[number]}: the daemon "
                "can open no further file: Too many open files (the limit is ")
                for number in range(len(begin), len(begin) + 4)), caught.value
            state = loader.state_dict()
            assert state["position"] == len(begin)
            loader.load_state_dict(state)
            assert begin + contents(loader)[1] == list(range(48))


def test_passing_fault_that_passes_in_mid_epoch(tmp_path, photos, caplog):
    with serving(tmp_path) as daemon, \
            open_loader(photos, depth=1) as loader, \
            contextlib.ExitStack() as lack:
        iterator = iter(loader)
        begin = contents([next(iterator)])[1]
        until(lambda: has_read_ahead(daemon), "full slots")
        lack.enter_context(free_descriptors(daemon, 0))

        def pass_with_the_third_try(connection, tries=[]):
            tries.append(connection)
            if len(tries) == 3:
                lack.close()
            return reattach(connection)

        reattach = forebay._connection.Connection._reattach
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forebay._connection.Connection, "_reattach",
                          pass_with_the_third_try)
            assert begin + contents(iterator)[1] == list(range(48))
        away, back = [record.getMessage() for record in caplog.records]
        assert re.search(r"Too many open files \(.* raises it\): waiting", away)
        assert "goes on after" in back


def names(photos):
    """Returns CLASS/FILE of all samples, in order."""
    return [str(path.relative_to(photos))
            for path in sorted(photos.glob("*/*.jpg"))]
