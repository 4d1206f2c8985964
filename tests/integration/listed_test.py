"""Epochs whose sample numbers the trainer lists."""

import os

import numpy
import pytest

import forebay
from forebay import _batch, _connection, _native, _options
from raw_session import (INVALID_ARGUMENT, RESOURCE_EXHAUSTED, loader_spec,
                         memfd, messages, sealed, text)
from test_client_batches import SAMPLES

NOT_SEALED = ("the list of the epoch's samples: its memory is not sealed "
              "against writing and shrinking")


def open_listed(dataset, transform=None, **options):
    """Opens a native loader of a dataset whose order is listed."""
    given = {"fields": None, "batch_size": 4, "shuffle": False, "seed": 7,
             "drop_last": False, "transform": transform, "rank": 0,
             "world_size": 1, "pad": "wrap", "on_error": "raise",
             "sharing": "elastic", "weight": 1.0,
             "name": None, "depth": None, "extra_roots": (), **options}
    return _connection.Connection(
        _options.build(dataset, listed=True, **given), transform)


def batches(connection, indices, first_sample=0, epoch=0):
    """Returns the batches of an epoch of the samples `indices`."""
    connection.start_epoch(epoch, first_sample,
                           numpy.array(indices, dtype=numpy.int64))
    wrapper, view = _batch.Wrapper("numpy"), _batch.View()
    reader = connection.batch_reader(view.native)
    found = []
    while True:
        memory = reader.next()
        if memory.__class__ is int:
            if memory == _native.END_OF_EPOCH:
                return found
            if memory not in (_native.INTERRUPTED, _native.TIMEOUT):
                _native.check(memory)
            continue
        found.append(wrapper.wrap(memory, view))
        reader.pending = None


def ids(found):
    return [int(number) for batch in found for number in batch.sample_ids]


CROP = forebay.transforms.RandomResizedCrop(24)


def test_an_epoch_is_its_list(daemon, photos):
    connection = open_listed(photos, CROP)
    for indices in ([5, 2, 5, 40, 0, 5], [SAMPLES - 1], [], [1, 2, 3] * 30):
        assert ids(batches(connection, indices)) == indices
        assert ids(batches(connection, indices, len(indices) // 2)) == (
            indices[len(indices) // 2:])


def test_a_sample_looks_as_in_any_order_but_new_each_time(daemon, photos):
    """The augmentation depends on the seed, the epoch, the sample, and how often the
    sample came before."""
    plain = open_listed(photos, CROP)
    first, again, other = (
        batches(plain, indices, epoch=3)
        for indices in ([5, 2, 5, 5], [7, 5, 9, 5], [2, 5]))
    assert (first[0].image[0] == again[0].image[1]).all()
    assert (first[0].image[2] == again[0].image[3]).all()
    assert (first[0].image[0] == other[0].image[1]).all()
    assert (first[0].image[0] != first[0].image[2]).any()
    assert (first[0].image[2] != first[0].image[3]).any()
    with forebay.DataLoader(photos, batch_size=SAMPLES, seed=7, transform=CROP,
                            framework="numpy") as loader:
        loader.set_epoch(3)
        assert (next(iter(loader)).image[5] == first[0].image[0]).all()


def test_a_list_that_names_no_sample_harms_nothing(daemon, photos):
    connection = open_listed(photos, CROP)
    with pytest.raises(forebay.InvalidArgument,
                       match=f"number 1 of it is {SAMPLES}, but the dataset "
                       f"has {SAMPLES} samples"):
        batches(connection, [0, SAMPLES])
    with pytest.raises(forebay.InvalidArgument, match="is -1, but"):
        batches(connection, [-1])
    with pytest.raises(forebay.ForebayError, match="of an epoch that has 2"):
        batches(connection, [1, 2], first_sample=3)
    with pytest.raises(forebay.InvalidArgument, match="no list came"):
        connection.start_epoch(0, 0)
    assert ids(batches(connection, [3, 1])) == [3, 1]


def test_only_listed_loaders_take_lists(daemon, photos):
    with forebay.DataLoader(photos, batch_size=4, transform=CROP) as loader:
        connection = loader._attachment.connection
        with pytest.raises(forebay.InvalidArgument, match="is not listed"):
            connection.start_epoch(0, 0, numpy.zeros(1, numpy.int64))


def test_hostile_lists(session, photos):
    spec = loader_spec()
    spec.sampler.order = 4
    opened, fds = session.open_loader(spec, photos)
    for fd in fds:
        os.close(fd)

    def start(*lists, listed=True):
        answer, _ = session.call(lists, start_epoch=messages()[1].StartEpoch(
            loader_id=opened.loader_id, listed=listed))
        for fd in lists:
            os.close(fd)
        return answer.code, text(answer)

    assert start(memfd(b"12345678")) == (INVALID_ARGUMENT, NOT_SEALED)
    assert start(sealed(b"123456789"))[0] == INVALID_ARGUMENT
    assert start(os.open("/dev/null", os.O_RDONLY))[0] == INVALID_ARGUMENT
    assert start(os.open(photos, os.O_RDONLY))[0] == INVALID_ARGUMENT
    assert start()[0] == INVALID_ARGUMENT
    assert start(sealed(bytes(8)), sealed(bytes(8)))[0] == INVALID_ARGUMENT
    assert start(sealed(bytes(8)), listed=False)[0] == INVALID_ARGUMENT
    assert start(sealed(b"", size=1 << 45))[0] == RESOURCE_EXHAUSTED
