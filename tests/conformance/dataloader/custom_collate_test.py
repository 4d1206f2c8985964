"""Collate functions of the user."""

import functools
import os

import numpy
import pytest
import torch
from torch.utils.data import default_collate

from sample_sets import Counted, Made, Numbers


class Pair:
    """A batch that is not a tensor."""

    def __init__(self, samples):
        self.first, self.last = samples[0], samples[-1]


def padded(samples):
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)


def test_a_function_gets_the_list_of_samples(DataLoader):
    loader = DataLoader(Numbers(3), 2, collate_fn=lambda samples: samples,
                        num_workers=1)
    assert list(loader) == [[0, 1], [2]]


def test_a_builtin(DataLoader):
    assert list(DataLoader(Numbers(4), 2, collate_fn=sum, num_workers=1)) == [1, 5]


def test_sequences_of_different_lengths(DataLoader):
    dataset = Made(lambda i: torch.arange(1, i + 2), 4)
    loader = DataLoader(dataset, 2, collate_fn=padded, num_workers=2)
    assert [batch.tolist() for batch in loader] == [
        [[1, 0], [1, 2]], [[1, 2, 3, 0], [1, 2, 3, 4]]]


def test_none_may_be_left_out(DataLoader):
    def present(samples):
        return default_collate([sample for sample in samples if sample is not None])
    dataset = Made(lambda i: None if i % 3 == 0 else i, 6)
    loader = DataLoader(dataset, 3, collate_fn=present, num_workers=1)
    assert [batch.tolist() for batch in loader] == [[1, 2], [4, 5]]


def test_a_batch_may_be_none(DataLoader):
    loader = DataLoader(Numbers(4), 2, collate_fn=lambda samples: None,
                        num_workers=1)
    assert list(loader) == [None, None]


def test_a_batch_may_be_any_object(DataLoader):
    batches = list(DataLoader(Numbers(5), 3, collate_fn=Pair, num_workers=1))
    assert [(batch.first, batch.last) for batch in batches] == [(0, 2), (3, 4)]


def test_arrays_stay_arrays(DataLoader):
    dataset = Made(lambda i: numpy.full(2, i, "u2"), 2)
    batch, = DataLoader(dataset, 2, collate_fn=numpy.stack, num_workers=1)
    assert type(batch) is numpy.ndarray and batch.dtype == numpy.uint16
    assert batch.tolist() == [[0, 0], [1, 1]]
    batch += 1


def test_tuples_stay_tuples(DataLoader):
    loader = DataLoader(Numbers(2), 2, collate_fn=lambda s: (tuple(s), {"n": 2}),
                        num_workers=1)
    assert list(loader) == [((0, 1), {"n": 2})]


def test_a_partial_function(DataLoader):
    def times(factor, samples):
        return [factor * sample for sample in samples]
    loader = DataLoader(Numbers(2), 2, collate_fn=functools.partial(times, 3),
                        num_workers=1)
    assert list(loader) == [[0, 3]]


def test_a_method(DataLoader):
    class Adding:
        offset = 10

        def collate(self, samples):
            return [self.offset + sample for sample in samples]
    loader = DataLoader(Numbers(2), 2, collate_fn=Adding().collate, num_workers=1)
    assert list(loader) == [[10, 11]]


def test_it_runs_where_the_samples_are_made(DataLoader):
    dataset = Made(lambda i: os.getpid(), 2)
    batch, = DataLoader(dataset, 2, collate_fn=lambda s: s + [os.getpid()],
                        num_workers=1)
    assert len(set(batch)) == 1 and batch[0] != os.getpid()


def test_it_keeps_state_within_a_worker(DataLoader):
    class Counting:
        calls = 0

        def __call__(self, samples):
            self.calls += 1
            return self.calls
    counting = Counting()
    loader = DataLoader(Numbers(6), 2, collate_fn=counting, num_workers=1)
    assert list(loader) == [1, 2, 3]
    assert list(loader) == [1, 2, 3]
    assert counting.calls == 0


def test_single_samples_go_through_it(DataLoader):
    loader = DataLoader(Numbers(3), None, collate_fn=lambda sample: f"<{sample}>",
                        num_workers=1)
    assert list(loader) == ["<0>", "<1>", "<2>"]


def test_batches_of_an_iterable_go_through_it(DataLoader):
    loader = DataLoader(Counted(3), 2, collate_fn=tuple, num_workers=1)
    assert list(loader) == [(0, 1), (2,)]


def test_torchs_default_by_its_name(DataLoader):
    loader = DataLoader(Numbers(2), 2, collate_fn=default_collate, num_workers=1)
    assert [batch.tolist() for batch in loader] == [[0, 1]]


def test_the_attribute_is_the_default_if_none_was_given(DataLoader):
    loader = DataLoader(Numbers(2), 2, num_workers=1)
    assert loader.collate_fn([1, 2]).tolist() == [1, 2]


def test_its_error_reaches_the_trainer(DataLoader):
    def broken(samples):
        raise LookupError("no batch today")
    loader = DataLoader(Numbers(2), 2, collate_fn=broken, num_workers=1)
    with pytest.raises(LookupError, match="no batch today"):
        list(loader)
