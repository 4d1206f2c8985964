"""Batches made of memory that a test has laid out itself."""

import ctypes
import sys

import numpy
import pytest
import torch

from forebay import _batch, _native

PAGE = 4096
KINDS = {
    "uint8": (_native.UINT8, numpy.uint8, torch.uint8),
    "float16": (_native.FLOAT16, numpy.float16, torch.float16),
    "float32": (_native.FLOAT32, numpy.float32, torch.float32),
    "int64": (_native.INT64, numpy.int64, torch.int64),
    "bfloat16": (_native.BFLOAT16, numpy.uint16, torch.bfloat16),
}


class Slot:
    """Memory with images, labels and ids, and the View of it."""

    def __init__(self, dtype, count):
        code, self.dtype, _ = KINDS[dtype]
        self.memory = (ctypes.c_ubyte * (4 * PAGE))()
        self.images = self._array(PAGE, (count, 3, 2), self.dtype)
        self.labels = self._array(2 * PAGE, (count,), numpy.int64)
        self.ids = self._array(3 * PAGE, (count,), numpy.int64)
        for array in (self.images, self.labels, self.ids):
            array[...] = numpy.arange(array.size).reshape(array.shape) + 7
        self.view = _batch.View()
        native = self.view.native
        native.data = ctypes.addressof(self.memory)
        native.bytes = len(self.memory)
        native.layout = 1
        native.info.sample_count = count
        native.info.field_count = 3
        for field, name, kind, type_code, array, offset in zip(
                native.fields, (b"image", b"label", b"id"),
                (_native.IMAGE, _native.LABEL, _native.SAMPLE_ID),
                (code, _native.INT64, _native.INT64),
                (self.images, self.labels, self.ids),
                (PAGE, 2 * PAGE, 3 * PAGE)):
            field.name, field.kind, field.dtype = name, kind, type_code
            field.rank = array.ndim
            field.shape[:array.ndim] = array.shape
            field.offset, field.bytes = offset, array.nbytes

    def _array(self, offset, shape, dtype):
        return numpy.ndarray(shape, dtype, self.memory, offset)


@pytest.fixture(params=["numpy", "torch", "torch without numpy"])
def wrapper(request, monkeypatch):
    _batch._framework.cache_clear()
    with monkeypatch.context() as patch:
        if request.param == "torch without numpy":
            patch.setitem(sys.modules, "numpy", None)
        made = _batch.Wrapper(request.param.split()[0])
    yield made
    _batch._framework.cache_clear()


def bits(value, dtype):
    """A NumPy array of a batch's field, bfloat16 as uint16."""
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            value = value.view(torch.int16)
        return value.numpy().view(dtype)
    return value


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("count", [5, 1, 0])
def test_shows_images_and_copies_the_rest(wrapper, dtype, count):
    slot = Slot(dtype, count)
    batch, samples = wrapper.wrap(slot.view)
    assert samples == count
    assert batch._fields == ("image", "label")
    expected = slot.images.copy(), slot.labels.copy(), slot.ids.copy()
    slot.labels += 1
    slot.ids += 1
    if isinstance(batch.image, torch.Tensor):
        assert batch.image.dtype == KINDS[dtype][2]
    got = bits(batch.image, slot.dtype)
    numpy.testing.assert_array_equal(got, expected[0])
    numpy.testing.assert_array_equal(numpy.asarray(batch.label), expected[1])
    numpy.testing.assert_array_equal(numpy.asarray(batch.sample_ids),
                                     expected[2])
    assert batch.sample_ids is batch.sample_ids
    if count:
        slot.images[0, 1, 1] = 99
        assert got[0, 1, 1] == 99
        got[0, 0, 0] = 88
        assert slot.images[0, 0, 0] == 88


def test_batches_of_different_layouts_follow_one_another(wrapper):
    for dtype, count in (("uint8", 4), ("float32", 4), ("uint8", 2),
                         ("uint8", 4)):
        slot = Slot(dtype, count)
        batch, _ = wrapper.wrap(slot.view)
        numpy.testing.assert_array_equal(bits(batch.image, slot.dtype),
                                         slot.images)


def test_the_lease_ends_with_the_images(monkeypatch):
    ended = []
    monkeypatch.setattr(_batch, "_release",
                        lambda lease, _: ended.append(lease))
    slot = Slot("float32", 4)
    slot.view.native.batch = 1234
    batch, _ = _batch.Wrapper("numpy").wrap(slot.view)
    row, label, ids = batch.image[1], batch.label, batch.sample_ids
    del batch
    assert not ended
    del row
    assert ended == [1234]
    assert len(label) == len(ids) == 4
