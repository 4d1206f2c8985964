"""Workers that run the user's ops, and are killed, slow, hostile or forked."""

import ctypes
import os
import random
import signal
import subprocess
import sys
import textwrap
import zlib

import forebay
import numpy
import PIL.Image
import pytest
import torchvision.transforms as V

from own_processes import children, hosts
from code_in_pipeline_test import (SIZE, Counted, albumentations, assert_equal,
                                   contents_of, loader_of, mirrored, read, same)
from daemons import serving
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

pytestmark = pytest.mark.filterwarnings("ignore:without a counterpart")


def test_what_is_killed_changes_nothing(photos, daemon, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(daemon.runtime_dir))
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    ops = [V.RandomResizedCrop(SIZE), mirrored, V.ToTensor()]
    expected = [read(photos, ops, batch_size=2)]
    with loader_of(photos, ops, batch_size=2, num_workers=2) as loader:
        for _ in range(12):
            loader.set_epoch(0)
            found = {}
            for place, batch in enumerate(loader):
                for number, image, label in zip(batch.sample_ids, batch.image,
                                                batch.label):
                    assert int(number) not in found
                    found[int(number)] = image.clone(), int(label)
                if place != 7:
                    continue
                found_hosts = [pid for pid in hosts(os.getpid()) if children(pid)]
                kind = chance.choice(["worker", "host", "daemon"])
                if kind == "daemon":
                    daemon.stop(signal.SIGKILL)
                    daemon.start()
                for host in found_hosts:
                    victims = {"host": [host], "worker": children(host)}
                    for victim in victims.get(kind, []):
                        os.kill(victim, signal.SIGKILL)
            assert_equal(found, expected[0])


def test_a_worker_that_sleeps_is_waited_for_elsewhere(photos):
    def sleepy(image):
        subprocess.run(["sleep", "0.05"], check=True)
        return image

    crop = V.RandomResizedCrop(SIZE)
    found = read(photos, [crop, sleepy, V.ToTensor()], num_workers=4)
    assert_equal(found, read(photos, [crop, V.ToTensor()]))


def test_images_that_need_a_larger_workspace_come_to_the_code(tmp_path):
    folder = tmp_path / "large" / "one"
    folder.mkdir(parents=True)
    chance = numpy.random.default_rng(1)
    for number in range(3):
        noise = chance.integers(0, 256, (40, 60, 3), dtype=numpy.uint8)
        PIL.Image.fromarray(noise).resize((6000, 4000)).save(
            folder / f"{number}.jpg", progressive=number == 2)
    jitter = V.ColorJitter(brightness=(0.5, 0.5))
    config = tmp_path / "forebayd.toml"
    config.write_text("[memory]\nlimit = '2GiB'\n[cpu]\nworkers = 32\n")
    with serving(tmp_path, "--config", str(config)):
        first = [jitter, V.Resize((SIZE, SIZE))]
        found = read(folder.parent, [*first, same, V.ToTensor()])
        assert_equal(found, read(folder.parent, [*first, V.ToTensor()]))


def test_breaks_and_loaders_that_nobody_holds_leave_nothing(photos):
    for number in range(3):
        loader = loader_of(photos, [V.RandomResizedCrop(SIZE), Counted(os.devnull),
                                    V.ToTensor()])
        next(iter(loader))
        if number == 1:
            next(iter(loader))
        if number == 2:
            loader.close()
        del loader


def test_a_forked_child_reads_by_workers_of_its_own(photos):
    with loader_of(photos, [V.RandomResizedCrop(SIZE), same, V.ToTensor()]) as loader:
        expected = contents_of(loader)
        loader.set_epoch(0)
        next(iter(loader))
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                loader.set_epoch(0)
                assert_equal(contents_of(loader), expected)
                loader.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        loader.set_epoch(0)
        assert_equal(contents_of(loader), expected)


SCRIPT = """
    import sys
    import forebay
    import torchvision.transforms as V
    from torchvision.datasets import ImageFolder

    class Own:
        def __call__(self, image):
            return image.rotate(90)

    if __name__ == "__main__":
        loader = forebay.DataLoader(
            ImageFolder(sys.argv[1], V.Compose([
                V.RandomResizedCrop(32), Own(), V.ToTensor()])),
            batch_size=8, num_workers=2, multiprocessing_context=sys.argv[2])
        print(sum(len(batch[0]) for batch in loader), loader.stats()["samples_decoded"])
"""


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_start_as_the_context_says(photos, tmp_path, context):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    said = subprocess.run([sys.executable, "-W", "ignore", str(script), str(photos),
                           context], check=True, stdout=subprocess.PIPE)
    assert said.stdout.split()[0] == b"48"


def test_workers_that_write_over_the_slot_harm_their_own_batches_alone(
        photos, tmp_path, shared_daemon):
    # The shards have texts. The daemon reads their lengths from where workers can
    # write.
    shards = tmp_path / "shards"
    shards.mkdir()
    for path in sorted(photos.rglob("*.jpg")):
        name = f"{path.parent.name}-{path.stem}"
        (shards / f"{name}.jpg").write_bytes(path.read_bytes())
        (shards / f"{name}.txt").write_text("a text " * (len(name) % 5))
    subprocess.run(["tar", "--sort=name", "-cf", "all.tar", "--wildcards", "-C", ".",
                    *sorted(path.name for path in shards.iterdir())], cwd=shards,
                   check=True)

    def scribbles(image):
        for line in open("/proc/self/maps"):
            span, access, _, _, _, *name = line.split()
            if "memfd" in "".join(name) and access.startswith("rw-s"):
                begin, end = (int(part, 16) for part in span.split("-"))
                ctypes.memset(begin, 0x7f, end - begin)
        return image

    with forebay.DataLoader(
            str(shards / "all.tar"), fields=("jpg", "txt"), batch_size=8, seed=1,
            framework="torch", num_workers=1, transform=V.Compose(
                [V.RandomResizedCrop(SIZE), scribbles, V.ToTensor()])) as loader:
        try:
            for batch in loader:
                assert batch[0].shape[1:] == (3, SIZE, SIZE)
        except Exception as error:  # an error is as good, but a crash is not
            print(error)
    assert_equal(read(photos, [V.RandomResizedCrop(SIZE), V.ToTensor()]),
                 read(photos, [V.RandomResizedCrop(SIZE), same, V.ToTensor()]))
    until(lambda: shared_daemon.process.poll() is None, "a daemon")


class Inverting:
    """Inverts images, and kills its worker at some of them, each time at another image.
    A sample is given up if three workers die while they make it or a sample of the same
    task."""

    def __init__(self, folder, in_place):
        self.folder = str(folder)
        self.in_place = in_place
        self.done = 0

    def __call__(self, op=None, *, image):
        self.done += 1
        deaths = os.listdir(self.folder)
        name = str(zlib.crc32(numpy.ascontiguousarray(image)))
        made = numpy.subtract(255, image, out=image if self.in_place else None)
        if len(deaths) < 8 and self.done > 2 + 3 * len(deaths) and name not in deaths:
            open(os.path.join(self.folder, name), "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"image": made} if self.in_place else PIL.Image.fromarray(made)


def test_ops_of_workers_that_died_run_once_in_place(photos, tmp_path):
    def all_of(*middle):
        transform = albumentations("Compose", transforms=[
            albumentations("Resize", height=SIZE, width=SIZE, interpolation=1),
            *middle, albumentations("ToTensorV2")], processors={})
        with forebay.DataLoader(str(photos), batch_size=8, seed=2,
                                transform=transform, framework="torch",
                                num_workers=1 if middle else None) as loader:
            return contents_of(loader)

    op = albumentations("Invert", Inverting.__call__, folder=str(tmp_path),
                        in_place=True, done=0)
    found = all_of(op)
    assert os.listdir(tmp_path)
    assert_equal(found, {number: (255 - image, label) for number, (image, label)
                         in all_of().items()})


def test_ops_of_workers_that_died_run_once_on_each_image(photos, tmp_path):
    inverting = Inverting(tmp_path, False)

    def inverted(image):
        return inverting(image=numpy.asarray(image))

    crop = V.RandomResizedCrop(SIZE)
    with loader_of(photos, [crop, inverted, V.PILToTensor()], num_workers=1,
                   batch_size=16) as loader:
        for epoch in range(3):
            found = contents_of(loader)
            with loader_of(photos, [crop, V.PILToTensor()]) as plain:
                plain.set_epoch(epoch)
                assert_equal(found, {
                    number: (255 - image, label) for number, (image, label)
                    in contents_of(plain).items()})
    assert len(os.listdir(tmp_path)) > 3
