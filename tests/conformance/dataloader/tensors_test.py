"""The memory of batches: ownership, size, layout, and tensors that cannot be sent."""

import gc

import numpy
import pytest
import torch

from sample_sets import Made, Numbers


def test_writes_into_a_batch_stay_there(DataLoader):
    dataset = Made(lambda i: torch.zeros(3), 4)
    loader = DataLoader(dataset, 2, num_workers=1)
    for _ in range(2):
        for batch in loader:
            assert not batch.any()
            batch += 1


def test_writes_do_not_reach_the_dataset(DataLoader):
    held = torch.zeros(4, 3)
    for batch in DataLoader(Made(lambda i: held[i], 4), 2, num_workers=1):
        batch += 1
    assert not held.any()


def test_a_single_sample_of_a_worker_is_not_the_datasets_memory(DataLoader):
    held = torch.zeros(2, 3)
    for sample in DataLoader(Made(lambda i: held[i], 2), None, num_workers=1):
        sample += 1
    assert not held.any()


def test_without_workers_a_single_sample_is_the_datasets_memory(DataLoader):
    held = torch.zeros(2, 3)
    for sample in DataLoader(Made(lambda i: held[i], 2), None, num_workers=0):
        sample += 1
    assert held.all()


def test_batches_may_all_be_kept(DataLoader):
    kept = list(DataLoader(Made(lambda i: torch.full((50,), i), 120), 2,
                           num_workers=2))
    assert all(bool((batch == torch.tensor([[2 * n], [2 * n + 1]])).all())
               for n, batch in enumerate(kept))


def test_a_batch_outlives_its_loader(DataLoader):
    loader = DataLoader(Made(lambda i: torch.full((1000,), i), 4), 4, num_workers=1)
    batch, = loader
    del loader
    gc.collect()
    assert batch.sum(1).tolist() == [0, 1000, 2000, 3000]


def test_a_view_outlives_its_batch(DataLoader):
    loader = DataLoader(Made(lambda i: torch.full((1000,), i), 4), 4, num_workers=1)
    view = next(iter(loader))[3, 10:12]
    gc.collect()
    assert view.tolist() == [3, 3]


def test_a_batch_of_some_megabytes(DataLoader):
    dataset = Made(lambda i: torch.full((1 << 20,), i, dtype=torch.int32), 8)
    for number, batch in enumerate(DataLoader(dataset, 4, num_workers=1)):
        assert batch.shape == (4, 1 << 20)
        assert (batch == torch.arange(4 * number, 4 * number + 4)[:, None]).all()


def test_batches_that_grow_by_far(DataLoader):
    sizes = [1, 10, 100_000, 3, 2_000_000]
    dataset = Made(lambda i: torch.full((sizes[i],), i), len(sizes))
    read = list(DataLoader(dataset, 1, num_workers=1))
    assert [batch.numel() for batch in read] == sizes
    assert all(bool((batch == n).all()) for n, batch in enumerate(read))


def test_many_tensors_in_a_batch(DataLoader):
    dataset = Made(lambda i: {f"field {n}": torch.tensor([n, i])
                              for n in range(300)}, 4)
    batch, = DataLoader(dataset, 4, num_workers=1)
    assert len(batch) == 300
    assert batch["field 299"].tolist() == [[299, i] for i in range(4)]


def test_long_texts_and_bytes(DataLoader):
    dataset = Made(lambda i: ("x" * 300_000 * i, b"\0" * 300_000), 3)
    texts, data = next(iter(DataLoader(dataset, 3, num_workers=1)))
    assert [len(text) for text in texts] == [0, 300_000, 600_000]
    assert [len(one) for one in data] == [300_000] * 3


def test_a_collate_function_may_choose_the_strides(DataLoader):
    def collate(samples):
        return torch.stack(samples).to(memory_format=torch.channels_last)
    dataset = Made(lambda i: torch.arange(24).reshape(2, 3, 4) + i, 2)
    batch, = DataLoader(dataset, 2, collate_fn=collate, num_workers=1)
    assert batch.is_contiguous(memory_format=torch.channels_last)
    assert batch[1].tolist() == dataset[1].tolist()


def test_a_tensor_twice_in_a_batch_shares_its_memory(DataLoader):
    def collate(samples):
        whole = torch.tensor(samples)
        return whole, whole[:1]
    whole, part = next(iter(DataLoader(Numbers(2), 2, collate_fn=collate,
                                       num_workers=1)))
    part += 5
    assert whole.tolist() == [5, 1]


def test_a_sparse_batch_by_a_collate_function_without_workers(DataLoader):
    def collate(samples):
        return torch.stack([sample.to_dense() for sample in samples]).to_sparse()
    dataset = Made(lambda i: (torch.eye(2) * i).to_sparse(), 2)
    batch, = DataLoader(dataset, 2, collate_fn=collate, num_workers=0)
    assert batch.is_sparse and batch.to_dense()[1].tolist() == [[1, 0], [0, 1]]


def test_gradients_pass_the_collation_without_workers(DataLoader):
    weight = torch.ones(2, requires_grad=True)
    batch, = DataLoader(Made(lambda i: weight * i, 3), 3, num_workers=0)
    batch.sum().backward()
    assert weight.grad.tolist() == [3, 3]


def test_gradients_do_not_pass_between_processes(DataLoader):
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        list(DataLoader(Made(lambda i: weight * i, 3), 3, num_workers=1))


def test_a_leaf_that_wants_gradients_comes_as_a_leaf(DataLoader):
    def make(index):
        return torch.full((2,), float(index), requires_grad=True)
    for sample in DataLoader(Made(make, 2), None, num_workers=1):
        assert sample.requires_grad and sample.is_leaf


def test_a_parameter_comes_as_a_parameter(DataLoader):
    dataset = Made(lambda i: torch.nn.Parameter(torch.ones(2)), 1)
    sample, = DataLoader(dataset, None, num_workers=1)
    assert type(sample) is torch.nn.Parameter


def test_batches_are_writable_arrays(DataLoader):
    for batch in DataLoader(Made(lambda i: numpy.ones(3), 4), 2, num_workers=1):
        array = batch.numpy()
        array *= 2
        assert batch.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_batches_are_resizable(DataLoader):
    for batch in DataLoader(Made(lambda i: torch.ones(2), 2), 2, num_workers=1):
        joined = torch.cat([batch, batch])
        assert joined.shape == (4, 2)
        assert batch.reshape(-1).tolist() == [1, 1, 1, 1]


def test_pinned_memory_without_a_gpu(DataLoader):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    loader = DataLoader(Numbers(3), 3, pin_memory=True, num_workers=1)
    batch, = loader
    assert batch.tolist() == [0, 1, 2] and not batch.is_pinned()


def test_torchs_default_type_is_that_of_the_trainer(DataLoader):
    torch.set_default_dtype(torch.float64)
    try:
        batch, = DataLoader(Made(lambda i: torch.ones(1), 2), 2, num_workers=1)
    finally:
        torch.set_default_dtype(torch.float32)
    assert batch.dtype == torch.float64
