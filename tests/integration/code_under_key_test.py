"""Pipelines with the user's ops under one key. Jobs share the results if their ops make
the same."""

import os

import numpy
import PIL.Image
import pytest
import torchvision.transforms as V

from code_in_pipeline_test import SIZE, Counted, Scaled, loader_of
from keyed_jobs import CHECKED, checks_at_iter_alone  # noqa: F401
from stage_sharing_test import interleaved, made
from stage_test import leaves_nothing, reachable  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore:without a counterpart")


class Tinted:
    """An op whose code differs between two jobs."""

    def __init__(self, run):
        self.run = run

    def __call__(self, image):
        return self.run(image)


def half(image):
    return image.point(lambda value: value // 2)


def drawn(image):
    pixels = numpy.random.randint(0, 256, (SIZE, SIZE, 3), numpy.uint8)
    return PIL.Image.fromarray(pixels)


OTHER_OPS = {
    "another scale": (half, lambda image: image.point(lambda value: value // 3)),
    "another draw": (drawn, lambda image: (numpy.random.rand(), drawn(image))[1]),
    "where it is bright": (lambda image: image, lambda image: image.point(
        lambda value: min(value, 254))),
    "where it is dark": (lambda image: image, lambda image: (
        image if numpy.asarray(image).max() > 40 else half(image))),
}


@pytest.mark.parametrize("ops, persistent", [
    *((ops, False) for ops in OTHER_OPS), ("another scale", True)])
def test_other_ops_under_one_key_share_nothing(photos, ops, persistent):
    loaders = [loader_of(
        photos, [V.RandomResizedCrop(SIZE), Tinted(run), V.PILToTensor()],
        share_key=key, persistent_workers=persistent, num_workers=1)
        for key in ("tinted", None) for run in OTHER_OPS[ops]]
    for _ in range(2):
        found = interleaved([map(list, loader) for loader in loaders])
        assert found[:2] == found[2:] and found[0]
    for loader in loaders:
        loader.close()


def test_ops_that_are_changed_in_one_job_share_nothing_from_then_on(photos):
    ops = [Scaled(), Scaled(), Scaled()]
    loaders = [loader_of(photos, [V.RandomResizedCrop(SIZE), op, V.PILToTensor()],
                         share_key=key) for op, key in zip(ops, ("one", "one", None))]
    found = interleaved([map(list, loader) for loader in loaders])
    assert found[0] == found[1] == found[2]
    ops[1].factor = ops[2].factor = 5
    found = interleaved([map(list, loader) for loader in loaders])
    assert found[0] != found[1] == found[2]
    for loader in loaders:
        loader.close()


def test_ops_that_depend_on_their_process_are_shared_and_named(photos, tmp_path,
                                                               caplog):
    path = tmp_path / "made"

    class Numbered(Counted):
        def __call__(self, image):
            super().__call__(image)
            shade = os.getpid() % 251
            return PIL.Image.new("RGB", (SIZE, SIZE), (shade, 0, 0))

    loaders = [loader_of(photos, [V.RandomResizedCrop(SIZE), Numbered(path),
                                  V.PILToTensor()],
                         share_key="numbered", num_workers=2) for _ in range(2)]
    looks = made(path)
    with caplog.at_level("WARNING", "forebay"):
        found = interleaved([map(list, loader) for loader in loaders])
    assert found[0] == found[1]
    assert made(path) == looks + 48 + 2 * 2 * CHECKED
    assert "Numbered: its code makes an image of noise in another way" in caplog.text
    for loader in loaders:
        loader.close()
