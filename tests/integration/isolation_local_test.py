"""A file system that does not answer stops the jobs that read it, and no others."""

import contextlib

import pytest

from daemons import serving
from isolated_jobs import Job, Victims, jobs
from trouble import ctl

# Copies of each photograph, so that a batch of 256 is only a part of a dataset.
COPIES = 11
# The number of jobs and their batch size.
LOADS = {"a batch of 256": (1, 256), "eight jobs": (8, 32)}


@pytest.fixture(scope="module")
def many(photos, tmp_path_factory):
    """A folder of class folders, with COPIES of each photograph."""
    folder = tmp_path_factory.mktemp("many")
    for path in photos.glob("*/*.jpg"):
        (folder / path.parent.name).mkdir(exist_ok=True)
        for number in range(COPIES):
            (folder / path.parent.name / f"{number}-{path.name}").write_bytes(
                path.read_bytes())
    return folder


@pytest.fixture
def stack():
    with contextlib.ExitStack() as opened:
        yield opened


def whole(hung_mount, many, folder):
    """Makes a dataset whose files all hang."""
    mount = hung_mount(many)
    return mount, {"uri": mount.path}


def linked(hung_mount, many, folder):
    """Makes a dataset whose class folders are links, one of which leads to a hanging
    mount."""
    mount = hung_mount(many)
    root = folder / "links"
    root.mkdir()
    for number, path in enumerate(sorted(many.iterdir())):
        (root / path.name).symlink_to((many if number else mount.path) / path.name)
    return mount, {"uri": root, "extra_roots": [str(many), str(mount.path)]}


def sub_mounted(hung_mount, many, folder):
    """Makes a dataset with a class folder that is a hanging mount."""
    near, far, _ = sorted(many.iterdir())
    root = folder / "local"
    (root / "near").mkdir(parents=True)
    for path in near.iterdir():
        (root / "near" / path.name).write_bytes(path.read_bytes())
    return hung_mount(far, root / "far"), {"uri": root}


@contextlib.contextmanager
def hanging(mount, *operations):
    """While the `with` block lasts, the mount hangs and a request waits for it."""
    mount.stop(*operations)
    mount.await_held()
    yield
    assert mount.held() > 0
    mount.go()


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("place", [whole, linked, sub_mounted])
def test_jobs_on_healthy_disks_go_on(daemon, hung_mount, many, photos, tmp_path,
                                     stack, place, load):
    mount, dataset = place(hung_mount, many, tmp_path)
    victims = Victims(stack, photos, tmp_path)
    count, batch_size = LOADS[load]
    with jobs(count, batch_size, **dataset) as suffering:
        with hanging(mount):
            victims.check()
            assert ctl(daemon, "status")["sessions"] > count
        for job in suffering:
            job.await_epochs(1)


@contextlib.contextmanager
def uncached(tmp_path, io_uring):
    """A daemon that caches nothing."""
    config = tmp_path / "forebayd.toml"
    config.write_text(f'storage.io_uring = "{io_uring}"\ncache.memory = "0"\n')
    folder = tmp_path / "uncached"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started


@pytest.mark.parametrize("io_uring", ["auto", "off"])
@pytest.mark.parametrize("load", LOADS)
def test_jobs_on_healthy_disks_go_on_beside_a_disk(hung_disk, many, photos, tmp_path,
                                                   load, io_uring):
    count, batch_size = LOADS[load]
    with uncached(tmp_path, io_uring), contextlib.ExitStack() as stack:
        disk = hung_disk(many)
        stack.callback(disk.close)  # ends the disk before the daemon
        victims = Victims(stack, photos, tmp_path)
        with jobs(count, batch_size, disk.path) as suffering:
            with hanging(disk):
                victims.check()
            for job in suffering:
                job.await_batches(3)


@pytest.mark.parametrize("operation", ["lookup", "getattr", "open", "read",
                                       "flush"])
@pytest.mark.parametrize("io_uring", ["auto", "off"])
def test_whichever_call_hangs(hung_mount, many, photos, tmp_path, operation,
                              io_uring):
    with uncached(tmp_path, io_uring), contextlib.ExitStack() as stack:
        mount = hung_mount(many)
        stack.callback(mount.close)  # ends the mount before the daemon
        victims = Victims(stack, photos, tmp_path)
        with jobs(1, 64, mount.path), hanging(mount, operation):
            victims.check()


@pytest.mark.parametrize("place", [linked, sub_mounted])
def test_what_crosses_hangs_where_threads_read(hung_mount, many, photos, tmp_path,
                                               place):
    # Threads can follow links while they open files; a ring cannot.
    config = tmp_path / "forebayd.toml"
    config.write_text('storage.io_uring = "off"\ncache.memory = "0"\n')
    folder = tmp_path / "second"
    folder.mkdir()
    with serving(folder, "--config", str(config)), contextlib.ExitStack() as inner:
        mount, dataset = place(hung_mount, many, tmp_path)
        inner.callback(mount.close)
        victims = Victims(inner, photos, tmp_path)
        with jobs(1, 256, **dataset), hanging(mount):
            victims.check()


def test_another_mount_of_the_same_kind_goes_on(daemon, hung_mount, many, photos):
    mount, healthy = hung_mount(many), hung_mount(photos)
    with jobs(1, 8, mount.path), hanging(mount), \
            Job("healthy", healthy.path) as job:
        job.await_epochs()


def test_jobs_that_were_killed_hold_nothing(daemon, hung_mount, many, photos,
                                            tmp_path, stack):
    victims = Victims(stack, photos, tmp_path)
    mounts = [hung_mount(many) for _ in range(3)]
    for mount in mounts:
        with jobs(2, 64, mount.path):
            mount.stop()
            mount.await_held()
        # The jobs are gone, but the daemon's requests for them still hang.
        assert mount.held() > 0
    victims.check()
