"""Jobs whose samples take seconds of CPU time do not delay other jobs."""

import select
import signal
import subprocess
import sys

import numpy
import PIL.Image
import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from trouble import ctl, until

CPUS = 2
HEAVY_JOBS = 3
LIGHT_EPOCHS = 10
# This op takes a hundred thousand times as long as the light job's crop.
HEAVY = """
import sys
import forebay
from forebay import transforms as T
ops = [T.Resize((2048, 2048))]
ops += [T.ColorJitter(0.5, 0.5, 0.5, 0.5) for _ in range(40)]
with forebay.DataLoader(sys.argv[1], batch_size=4, framework="numpy",
                        transform=T.Compose([*ops, T.CenterCrop(8), T.ToImage()]),
                        sharing="off") as loader:
    print("opened", flush=True)
    for batch in loader:
        print("batch", flush=True)
"""


@pytest.fixture
def busy_daemon(tmp_path):
    """A daemon for two CPUs. Its tasks may still run when the test ends."""
    config = tmp_path / "forebayd.toml"
    config.write_text(f"[cpu]\nworkers = {CPUS}\n")
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started
        started.stop(signal.SIGKILL)


@pytest.fixture
def images(tmp_path):
    """A folder of a few small images."""
    folder = tmp_path / "images"
    (folder / "one").mkdir(parents=True)
    rng = numpy.random.default_rng(1)
    for number in range(8):
        noise = rng.integers(0, 256, (30, 40, 3), dtype=numpy.uint8)
        PIL.Image.fromarray(noise).save(folder / "one" / f"{number}.jpg")
    return folder


@pytest.fixture
def heavy_jobs(busy_daemon, images):
    """Jobs that make their first samples. There are more of these jobs than CPUs."""
    jobs = [subprocess.Popen([sys.executable, "-c", HEAVY, str(images)],
                             stdout=subprocess.PIPE, universal_newlines=True)
            for _ in range(HEAVY_JOBS)]
    try:
        for job in jobs:
            assert job.stdout.readline() == "opened\n"
        until(lambda: int(ctl(busy_daemon, "status")["workers_busy"]) == CPUS,
              "heavy tasks on all CPUs")
        yield jobs
    finally:
        for job in jobs:
            job.kill()
            job.wait()
            job.stdout.close()


def test_a_light_job_goes_on(busy_daemon, heavy_jobs, images):
    assert ctl(busy_daemon, "status")["workers"] == CPUS
    with forebay.DataLoader(images, batch_size=4, framework="numpy",
                            transform=T.Compose([T.CenterCrop(8), T.ToImage()]),
                            sharing="off") as loader:
        for _ in range(LIGHT_EPOCHS):
            assert sum(len(batch[0]) for batch in loader) == 8
    ready, _, _ = select.select([job.stdout for job in heavy_jobs], [], [], 0)
    assert not ready, "a heavy job has a batch: the light one waited for it"
