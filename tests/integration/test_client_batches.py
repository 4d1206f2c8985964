"""The batches that a trainer gets: their content, order and memory."""

import copy
import gc
import pickle

import numpy
import PIL.Image
import pytest
import torch

import forebay
from forebay import transforms as T

SAMPLES = 48

pytestmark = pytest.mark.usefixtures("batch_reader")


def reference(photos):
    """Returns PIL's pixels as uint8 (N, H, W, 3), and the labels as int64 (N,), in
    order."""
    images, labels = [], []
    for label, folder in enumerate(sorted(photos.iterdir())):
        for path in sorted(folder.iterdir()):
            images.append(numpy.asarray(PIL.Image.open(path).convert("RGB")))
            labels.append(label)
    return numpy.stack(images), numpy.array(labels)


def open_loader(photos, **arguments):
    arguments.setdefault("framework", "numpy")
    arguments.setdefault("batch_size", 8)
    # Every photograph already has this size, so the crop leaves its pixels unchanged.
    arguments.setdefault("transform", T.CenterCrop((72, 96)))
    return forebay.DataLoader(photos, **arguments)


@pytest.mark.parametrize("make", [
    copy.copy, copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))])
def test_batches_may_be_copied_and_pickled_but_loaders_not(daemon, photos, make):
    with open_loader(photos) as loader:
        batch = next(iter(loader))
        made = make(batch)
        assert type(made) is type(batch)
        numpy.testing.assert_array_equal(made.image, batch.image)
        numpy.testing.assert_array_equal(made.sample_ids, batch.sample_ids)
        with pytest.raises(TypeError, match="make one in each process"):
            make(loader)


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_content_labels_and_order(daemon, photos, framework):
    images, labels = reference(photos)
    with open_loader(photos, framework=framework, batch_size=10) as loader:
        assert len(loader) == 5
        assert len(loader.dataset) == SAMPLES
        assert loader.dataset.classes == ["beach", "city", "forest"]
        at = 0
        for batch in loader:
            assert batch._fields == ("image", "label")
            got, got_labels = batch
            count = len(got_labels)
            assert tuple(got.shape) == (count, 3, 72, 96)
            numpy.testing.assert_array_equal(
                numpy.asarray(got).transpose(0, 2, 3, 1),
                images[at:at + count])
            numpy.testing.assert_array_equal(numpy.asarray(got_labels),
                                             labels[at:at + count])
            numpy.testing.assert_array_equal(numpy.asarray(batch.sample_ids),
                                             numpy.arange(at, at + count))
            at += count
        assert at == SAMPLES


def test_shuffle_gives_each_sample_once_in_its_own_order(daemon, photos):
    images, labels = reference(photos)
    orders = []
    with open_loader(photos, shuffle=True, seed=3) as loader:
        for _ in range(2):
            ids = []
            for batch in loader:
                for image, label, sample in zip(*batch, batch.sample_ids):
                    numpy.testing.assert_array_equal(
                        image.transpose(1, 2, 0), images[sample])
                    assert label == labels[sample]
                    ids.append(int(sample))
            assert sorted(ids) == list(range(SAMPLES))
            orders.append(ids)
        assert orders[0] != orders[1]
        loader.set_epoch(0)
        again = [int(i) for batch in loader for i in batch.sample_ids]
        assert again == orders[0]


def test_holding_every_batch_does_not_deadlock(daemon, photos):
    images, _ = reference(photos)
    with open_loader(photos, batch_size=2) as loader:
        held = list(loader)
        assert loader.stats()["batches_copied"] > 0
        assert len(held) == 24
        everything = numpy.concatenate([batch.image for batch in held])
        numpy.testing.assert_array_equal(everything.transpose(0, 2, 3, 1),
                                         images)


def test_writing_in_place_harms_nobody(daemon, photos):
    images, _ = reference(photos)
    with open_loader(photos) as writer, open_loader(photos) as reader:
        for epoch in range(3):
            for at, (mine, theirs) in enumerate(zip(writer, reader)):
                expected = images[at * 8:at * 8 + 8].transpose(0, 3, 1, 2)
                numpy.testing.assert_array_equal(mine.image, expected)
                mine.image[:] = 255 - epoch
                assert (mine.image == 255 - epoch).all()
                numpy.testing.assert_array_equal(theirs.image, expected)


def test_lease_ends_with_the_last_view(daemon, photos):
    with open_loader(photos) as loader:
        iterator = iter(loader)
        batch = next(iterator)
        label = batch.label
        view = batch.image[3:4, :, ::2]
        expected = view.copy()
        assert loader.stats()["batches_held"] == 1
        del batch
        gc.collect()
        assert loader.stats()["batches_held"] == 1
        numpy.testing.assert_array_equal(view, expected)
        del view
        gc.collect()
        assert loader.stats()["batches_held"] == 0
        assert len(label) == 8


def test_batches_outlive_close(daemon, photos):
    images, _ = reference(photos)
    loader = open_loader(photos)
    batch = next(iter(loader))
    loader.close()
    loader.close()
    del loader
    gc.collect()
    numpy.testing.assert_array_equal(batch.image.transpose(0, 2, 3, 1),
                                     images[:8])
    batch.image[:] = 0


def test_closed_loader_says_so(daemon, photos):
    loader = open_loader(photos)
    iterator = iter(loader)
    next(iterator)
    loader.close()
    with pytest.raises(forebay.StateError, match="closed"):
        next(iterator)
    with pytest.raises(forebay.StateError, match="closed"):
        iter(loader)


@pytest.mark.parametrize("framework,module", [("numpy", numpy),
                                              ("torch", torch)])
def test_dlpack_shares_the_memory(daemon, photos, framework, module):
    with open_loader(photos, framework=framework) as loader:
        batch = next(iter(loader))
        shared = torch.from_dlpack(batch.image)
        shared[0, 0, 0, 0] = 7
        batch.image[0, 0, 0, 1] = 9
        assert int(batch.image[0, 0, 0, 0]) == 7
        assert int(shared[0, 0, 0, 1]) == 9


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_dtypes_of_torch(daemon, photos, dtype):
    images, _ = reference(photos)
    transform = T.Compose([T.CenterCrop((72, 96)), T.ToImage(),
                           T.ToDtype(dtype, scale=True)])
    with open_loader(photos, framework="torch", transform=transform) as loader:
        got = next(iter(loader)).image
    assert got.dtype == getattr(torch, dtype)
    expected = torch.from_numpy(images[:8]).permute(0, 3, 1, 2).float() / 255
    assert torch.allclose(got.float(), expected, atol=4e-3)


def test_framework_is_torch_once_torch_is_imported(daemon, photos):
    with open_loader(photos, framework=None) as loader:
        assert isinstance(next(iter(loader)).image, torch.Tensor)


def test_two_loaders_at_once(daemon, photos):
    images, _ = reference(photos)
    with open_loader(photos, shuffle=True) as train, \
            open_loader(photos, batch_size=6) as validation:
        for step, batch in enumerate(train):
            if step % 2 == 0:
                got = numpy.concatenate([b.image for b in validation])
                numpy.testing.assert_array_equal(got.transpose(0, 2, 3, 1),
                                                 images)
            numpy.testing.assert_array_equal(
                batch.image.transpose(0, 2, 3, 1), images[batch.sample_ids])


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_break_and_second_iteration(daemon, photos, framework):
    with open_loader(photos, framework=framework) as loader:
        for _ in range(5):
            for batch in loader:
                break
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(first)
        assert len(list(second)) == len(loader)
        assert len(list(first)) == len(loader) - 2
