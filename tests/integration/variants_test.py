"""Decoded images in the cache change no byte of a batch, and are counted."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import numpy
import PIL.Image
import pytest

from daemons import serving
from trouble import ctl

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "decode"
EPOCHS = 4
# These loaders have only their images in common.
KINDS = (
    ("T.RandomResizedCrop(40), T.RandomHorizontalFlip(), T.ToImage()", 7, 1),
    ("T.RandomResizedCrop((24, 56)), T.ToImage(), "
     "T.ToDtype('float32', scale=True)", 16, 2),
    ("T.Resize(64), T.CenterCrop(56), T.ToImage()", 10, 3),
    ("T.Resize(64), T.RandomCrop(48), T.RandomVerticalFlip(), T.ToImage()",
     12, 3),
)
READER = """
import hashlib, sys
import numpy
import forebay
from forebay import transforms as T
uri, batch_size, seed, epochs = sys.argv[1], *map(int, sys.argv[2:5])
fields = ("jpg;png",) if uri.endswith(".tar") else None
digest = hashlib.sha256()
with forebay.DataLoader(uri, fields=fields, batch_size=batch_size, shuffle=True,
                        seed=seed,
                        transform=T.Compose([%s]),
                        framework="numpy") as loader:
    for _ in range(epochs):
        for batch in loader:
            for field in batch:
                digest.update(numpy.ascontiguousarray(field))
            digest.update(numpy.ascontiguousarray(batch.sample_ids))
    print(digest.hexdigest(), loader.stats()["samples_decoded"])
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory, photos):
    """Images of every kind, and photographs."""
    folder = tmp_path_factory.mktemp("variants")
    for kind in ("jpg", "png"):
        (folder / kind).mkdir()
        for path in GOLDEN.glob(f"*.{kind}"):
            shutil.copy(path, folder / kind)
    (folder / "large").mkdir()
    rng = numpy.random.default_rng(1)
    for number, path in enumerate(sorted(photos.rglob("*.jpg"))[:12]):
        with PIL.Image.open(path) as image:
            image.resize(tuple(rng.integers(200, 500, 2))).save(
                folder / "large" / f"{number}.jpg")
    return folder


def _read(folder, kind):
    """Returns a digest of a loader's batches, and the number of samples that it
    decoded."""
    ops, batch_size, seed = kind
    done = subprocess.run(
        [sys.executable, "-c", READER % ops, str(folder), str(batch_size),
         str(seed), str(EPOCHS)],
        env=dict(os.environ, FOREBAY_JOB=f"{batch_size}-{seed}"),
        stdout=subprocess.PIPE, check=True)
    digest, decoded = done.stdout.split()
    return digest, int(decoded)


def _read_all(tmp_path, folder, config):
    """Runs the loaders of KINDS at once. Returns their digests, their decoded
    samples, and the cache's counters."""
    (tmp_path / "forebayd.toml").write_text(config)
    with serving(tmp_path, "--config",
                 str(tmp_path / "forebayd.toml")) as daemon, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda kind: _read(folder, kind), KINDS))
        cache = ctl(daemon, "cache")
    return ([digest for digest, _ in found],
            sum(decoded for _, decoded in found), cache)


def test_batches_are_the_same_decoded_once_or_each_time(tmp_path, images):
    samples = sum(len(list(images.glob(f"*/*.{kind}")))
                  for kind in ("jpg", "png"))
    assert samples >= 60
    found = {}
    for name, config in (
            ("off", "cache.memory = '64MiB'\ncache.decoded = 'off'\n"),
            ("roomy", "cache.memory = '64MiB'\n"),
            ("tight", "cache.memory = '2MiB'\n")):
        (tmp_path / name).mkdir()
        found[name] = _read_all(tmp_path / name, images, config)
    digests, decoded, cache = found["off"]
    assert decoded == len(KINDS) * EPOCHS * samples
    assert int(cache["decoded"]["made"]) == 0
    for name in ("roomy", "tight"):
        assert found[name][0] == digests
        variants = found[name][2]["decoded"]
        assert int(variants["entries"]) <= int(variants["made"])
        # Each sample was either decoded or a hit.
        assert (found[name][1] + int(variants["hits"]) ==
                len(KINDS) * EPOCHS * samples)
        assert int(found[name][2]["used"]) <= int(found[name][2]["capacity"])
    # The measured costs decide how many variants are cached. The first few are always
    # tried.
    variants = found["roomy"][2]["decoded"]
    assert int(variants["made"]) > 0 and int(variants["hits"]) > 0


def test_images_alone_in_shards(tmp_path, images):
    """The decoded variants may have fewer bytes than the images themselves."""
    shard = tmp_path / "images.tar"
    paths = sorted(path for path in images.glob("*/*"))
    with tarfile.open(shard, "w") as tar:
        for number, path in enumerate(paths):
            tar.add(path, f"{number:04}{path.suffix}")
    found = {}
    for name, config in (("off", "cache.decoded = 'off'\n"), ("roomy", "")):
        (tmp_path / name).mkdir()
        found[name] = _read_all(tmp_path / name, shard,
                                f"cache.memory = '64MiB'\n{config}")
    assert found["roomy"][0] == found["off"][0]
    assert int(found["roomy"][2]["decoded"]["hits"]) > 0
