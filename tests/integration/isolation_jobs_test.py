"""A job whose reads hang stops no other job on the same file system."""

import contextlib
import shutil

import pytest

from daemons import serving
from isolated_jobs import Job

# The most hanging reads that one job may have where threads read.
MOST_HUNG = 8


@pytest.fixture(params=["default", "uncached"])
def any_mount(request, hung_mount, tmp_path):
    """`hung_mount` with one of two daemons: with the default configuration, or without
    a cache and with threads that read files."""
    if request.param == "default":
        yield hung_mount
        return
    config = tmp_path / "forebayd.toml"
    config.write_text('storage.io_uring = "off"\ncache.memory = "0"\n')
    folder = tmp_path / "uncached"
    folder.mkdir()
    with serving(folder, "--config", str(config)):
        yield hung_mount


@pytest.fixture
def source(photos, tmp_path):
    """A folder with copies of the photographs. Some of them are read by one job
    alone."""
    for name in ("shared", "own", "bad"):
        for number in range(4 if name == "bad" else 1):
            shutil.copytree(photos, tmp_path / "source" / name / str(number))
    return tmp_path / "source"


@pytest.mark.parametrize("sharing", ["elastic", "off"])
def test_another_job_of_the_same_files_goes_on(any_mount, source, sharing):
    mount = any_mount(source)
    with contextlib.ExitStack() as stack:
        stack.callback(mount.close)  # ends the mount before the daemon

        def start(job, folder):
            return stack.enter_context(Job(job, mount.path / folder / "0",
                                           sharing=sharing))
        healthy = [start("healthy", "shared"), start("healthy", "own")]
        broken = start("broken", "shared")
        for job in (*healthy, broken):
            job.await_epochs(1)
        mount.stop("open", "read", folder="bad")
        for number in range(4):
            stack.enter_context(Job("broken", mount.path / "bad" / str(number),
                                    sharing=sharing))
        mount.await_held(MOST_HUNG)
        for job in healthy:
            job.await_epochs(6)
        mount.go()
        broken.await_epochs(1)
