"""Batches in memory that a test has laid out itself."""

import ctypes
import os
import signal
import sys
import threading
import types
import weakref

import numpy
import pytest
import torch

from forebay import _batch, _batch_reader, _native

PAGE = 4096
KINDS = {
    "uint8": (_native.UINT8, numpy.uint8, torch.uint8),
    "float16": (_native.FLOAT16, numpy.float16, torch.float16),
    "float32": (_native.FLOAT32, numpy.float32, torch.float32),
    "int64": (_native.INT64, numpy.int64, torch.int64),
    "bfloat16": (_native.BFLOAT16, numpy.uint16, torch.bfloat16),
}


class Slot:
    """Memory with images, labels and ids, and a BatchView of it."""

    def __init__(self, dtype, count, layout=1):
        code, self.dtype, _ = KINDS[dtype]
        self.memory = (ctypes.c_ubyte * (4 * PAGE))()
        self.images = self._array(PAGE, (count, 3, 2), self.dtype)
        self.labels = self._array(2 * PAGE, (count,), numpy.int64)
        self.ids = self._array(3 * PAGE, (count,), numpy.int64)
        for array in (self.images, self.labels, self.ids):
            array[...] = numpy.arange(array.size).reshape(array.shape) + 7
        native = self.native = _native.BatchView()
        native.batch = 1234
        native.data = ctypes.addressof(self.memory)
        native.bytes = len(self.memory)
        native.layout = layout
        native.next_sample = 5 + count
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


class Source:
    """A test's own native loader, which gets the calls of a batch reader.

    Attributes:
      slot: the slot of the next batch; None: the next call returns `status`.
      released: the batches whose leases were ended, in order.
    """

    def __init__(self, monkeypatch):
        self.slot = None
        self.status = _native.TIMEOUT
        self.released = []
        self._next = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_double,
            ctypes.POINTER(_native.BatchView))(self._next_view)
        self._release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
            self.released.append)
        monkeypatch.setattr(_native.lib, "forebay_loader_next_view",
                            self._next)
        monkeypatch.setattr(_native.lib, "forebay_batch_release",
                            self._release)
        monkeypatch.setattr(_batch_reader, "_release",
                            lambda lease, _: self.released.append(lease))

    def _next_view(self, loader, seconds, view):
        assert (loader, seconds) == (0x10ade4, 0.25)
        if self.slot is None:
            return self.status
        ctypes.memmove(view, ctypes.byref(self.slot.native),
                       ctypes.sizeof(_native.BatchView))
        return _native.OK

    def wrap(self, wrapper, slot, view):
        self.slot = slot
        reader = _batch_reader.create(0x10ade4, 0.25, view.native, self)
        return wrapper.wrap(reader.next(), view)


@pytest.fixture(params=["C++", "ctypes"])
def source(request, monkeypatch):
    if request.param == "ctypes":
        monkeypatch.setattr(_batch_reader, "_cbatch_reader", None)
    else:
        assert _batch_reader._cbatch_reader is not None
    return Source(monkeypatch)


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
    """Returns a NumPy array of a batch's field, with bfloat16 as uint16."""
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            value = value.view(torch.int16)
        return value.numpy().view(dtype)
    return value


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("count", [5, 1, 0])
def test_shows_images_and_copies_the_rest(source, wrapper, dtype, count):
    slot = Slot(dtype, count)
    batch = source.wrap(wrapper, slot, _batch.View())
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


def test_batches_of_different_layouts_follow_one_another(source, wrapper):
    view = _batch.View()
    for layout, (dtype, count) in enumerate(
            (("uint8", 4), ("float32", 4), ("uint8", 2), ("uint8", 4)), 1):
        slot = Slot(dtype, count, layout)
        batch = source.wrap(wrapper, slot, view)
        numpy.testing.assert_array_equal(bits(batch.image, slot.dtype),
                                         slot.images)


def test_the_lease_ends_with_the_images(source):
    batch = source.wrap(_batch.Wrapper("numpy"), Slot("float32", 4),
                        _batch.View())
    row, label, ids = batch.image[1], batch.label, batch.sample_ids
    del batch
    assert not source.released
    del row
    assert source.released == [1234]
    assert len(label) == len(ids) == 4


def test_without_a_batch_there_is_a_status_and_no_lease(source):
    reader = _batch_reader.create(0x10ade4, 0.25, _native.BatchView(), source)
    for status in (_native.TIMEOUT, _native.END_OF_EPOCH, 10):
        source.status = status
        assert reader.next() == status
    assert not source.released


def test_memory_tells_of_its_batch(source):
    source.slot = Slot("uint8", 4, layout=7)
    reader = _batch_reader.create(0x10ade4, 0.25, _native.BatchView(), source)
    memory = reader.next()
    reader.pending = None
    assert (memory.layout, memory.next_sample) == (7, 9)
    whole = memoryview(memory)
    assert not whole.readonly
    assert whole.nbytes == 4 * PAGE
    assert memory.read(2 * PAGE, 8) == (7).to_bytes(8, sys.byteorder)
    assert memory.read(4 * PAGE, 0) == b""
    del memory
    assert not source.released, "the view still shows it"
    del whole
    assert source.released == [1234]


def test_a_batch_is_pending_until_it_is_handed_out(source):
    source.slot = Slot("uint8", 4)
    reader = _batch_reader.create(0x10ade4, 0.25, _native.BatchView(), source)
    first = reader.next()
    source.slot = Slot("uint8", 3)
    assert reader.next() is first and reader.pending is first
    del first
    assert not source.released, "it is pending"
    reader.pending = None
    assert source.released == [1234]
    assert reader.next().next_sample == 8
    del reader
    assert source.released == [1234, 1234]


@pytest.mark.parametrize("again", [False, True])
def test_an_interrupted_read_leaves_no_lease(monkeypatch, again):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_batch_reader, "_cbatch_reader", None)
    source = Source(monkeypatch)
    source.slot = Slot("uint8", 4)
    reader = _batch_reader.create(0x10ade4, 0.25, _native.BatchView(), source)
    with monkeypatch.context() as patch:
        patch.setattr(_batch_reader, "weakref",
                      types.SimpleNamespace(ref=interrupted))
        with pytest.raises(KeyboardInterrupt):
            reader.next()
    if again:
        reader.next()
    del reader
    assert source.released == [1234]


def test_a_batch_reader_keeps_its_loader_alive(source):
    owner = Slot("uint8", 1)
    gone = weakref.ref(owner)
    reader = _batch_reader.create(0x10ade4, 0.25, _native.BatchView(), owner)
    del owner
    assert gone() is not None
    del reader
    assert gone() is None


def test_the_module_checks_what_it_is_told():
    with pytest.raises(TypeError):
        _batch_reader._cbatch_reader.BatchReader()
    with pytest.raises(TypeError):
        _batch_reader._cbatch_reader.Memory()


@pytest.mark.parametrize("span", [(-1, 1), (0, -1), (0, 4 * PAGE + 1),
                                  (4 * PAGE, 1), (4 * PAGE + 1, 0)])
def test_reads_nothing_outside_the_batch(monkeypatch, span):
    source = Source(monkeypatch)
    source.slot = Slot("uint8", 1)
    memory = _batch_reader.create(0x10ade4, 0.25, _native.BatchView(),
                                  source).next()
    with pytest.raises(IndexError):
        memory.read(*span)


def test_a_forked_child_has_sample_ids_whatever_threads_were_in():
    """If another thread holds a lock during the fork, the child finds it locked for
    ever."""
    batch_type = _batch._batch_type(("image",), (0,), False)
    begun, may_end = threading.Event(), threading.Event()

    def slow(content, offset):
        begun.set()
        may_end.wait()
        return content

    others = batch_type(1)
    others._ids = slow, b"1"
    thread = threading.Thread(target=lambda: others.sample_ids)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        own = batch_type(2)
        own._ids = lambda content, offset: content, b"2"
        os._exit(own.sample_ids != b"2")
    may_end.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_fields_are_named_like_no_attribute():
    assert _batch._identifiers(["image_places", "place_of", "with_values",
                                "sample_ids", "count", "class", "a/b", "a_b"]) == (
        "f_image_places", "f_place_of", "f_with_values", "f_sample_ids", "count",
        "f_class", "a_b", "f_a_b")
