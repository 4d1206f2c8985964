"""Positions, resuming, epochs and ranks."""

import json
import os
import pathlib
import subprocess

import numpy
import pytest
import torch

import forebay
from test_client_batches import SAMPLES, open_loader

CTL = os.environ.get(
    "FOREBAY_CTL",
    pathlib.Path(__file__).resolve().parents[2] /
    "bazel-bin/tools/forebayctl/forebayctl")

pytestmark = pytest.mark.usefixtures("batch_reader")


def ids(batches):
    return [int(i) for batch in batches for i in batch.sample_ids]


def test_resumes_in_mid_epoch(daemon, photos):
    with open_loader(photos, shuffle=True, seed=5) as loader:
        whole = [ids(loader), ids(loader)]
        loader.set_epoch(0)
        iterator = iter(loader)
        seen = ids([next(iterator), next(iterator)])
        state = loader.state_dict()
    assert seen == whole[0][:16]
    # The batch size may differ.
    with open_loader(photos, shuffle=True, seed=5, batch_size=5) as loader:
        loader.load_state_dict(state)
        assert loader.state_dict() == state
        assert ids(loader) == whole[0][16:]
        assert ids(loader) == whole[1]


def test_state_after_an_epoch_is_the_next_epoch(daemon, photos):
    with open_loader(photos, shuffle=True) as loader:
        whole = [ids(loader), ids(loader)]
        loader.set_epoch(0)
        list(loader)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (1, 0)
    with open_loader(photos, shuffle=True) as loader:
        loader.load_state_dict(state)
        assert ids(loader) == whole[1]


def test_an_iterator_that_nobody_read_takes_no_epoch(daemon, photos):
    """Training frameworks call iter() only to check that it works."""
    with open_loader(photos, shuffle=True, seed=5) as loader:
        whole = [ids(loader), ids(loader)]
    with open_loader(photos, shuffle=True, seed=5) as loader:
        iter(loader)
        assert ids(loader) == whole[0]
        iter(loader)
        loader.set_epoch(1)
        iter(loader)
        seen = ids([next(iter(loader))])
        assert seen == whole[1][:8]
        # Epoch 1 was read in part, so this is epoch 2.
        assert ids(loader) not in whole
        loader.set_epoch(0)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        loader.load_state_dict(state)
        iter(loader)
        assert loader.state_dict() == state
        assert ids(loader) == whole[0][8:]
        # set_epoch() decides the next epoch, even though another one began before it.
        loader.set_epoch(0)
        iterator = iter(loader)
        loader.set_epoch(1)
        del iterator
        assert ids(loader) == whole[1]


def test_the_samplers_epoch_counts(daemon, photos):
    with open_loader(photos, shuffle=True, seed=5) as loader:
        whole = [ids(loader) for _ in range(3)]
        loader.sampler.set_epoch(1)
        assert ids(loader) == whole[1]
        with pytest.warns(UserWarning, match="epoch 1 begins again"):
            assert ids(loader) == whole[1]
        loader.sampler.set_epoch(2)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
    with open_loader(photos, shuffle=True, seed=5) as loader:
        loader.load_state_dict(state)
        loader.sampler.set_epoch(2)
        assert ids(loader) == whole[2][8:]
        loader.sampler.set_epoch(0)
        assert ids(loader) == whole[0]


def test_resumes_with_other_ranks(daemon, photos):
    with open_loader(photos, shuffle=True) as loader:
        whole = ids(loader)
    states = []
    for rank in range(2):
        with open_loader(photos, shuffle=True, rank=rank,
                         world_size=2) as loader:
            next(iter(loader))
            states.append(loader.state_dict())
    assert states[0] == states[1]
    assert states[0]["position"] == 16
    rest = set()
    for rank in range(3):
        with open_loader(photos, shuffle=True, rank=rank, world_size=3,
                         pad="none") as loader:
            loader.load_state_dict(states[0])
            rest.update(ids(loader))
    assert rest == set(whole[16:])


def test_resumes_again_and_again_with_other_ranks(daemon, photos):
    """The numbers of ranks do not divide the number of samples read so far."""
    with open_loader(photos, shuffle=True, seed=8) as loader:
        whole = ids(loader)
    seen, state = [], None
    for world_size, batch_size in ((3, 5), (2, 4), (5, 1), (4, 3)):
        states = []
        for rank in range(world_size):
            with open_loader(photos, shuffle=True, seed=8, pad="none",
                             rank=rank, world_size=world_size,
                             batch_size=batch_size) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                iterator = iter(loader)
                seen += ids([next(iterator)])
                states.append(loader.state_dict())
        assert all(one == states[0] for one in states)
        state = states[-1]
        assert sorted(seen) == sorted(whole[:state["position"]])
    with open_loader(photos, shuffle=True, seed=8) as loader:
        loader.load_state_dict(state)
        assert ids(loader) == whole[len(seen):]


def test_refuses_a_state_of_something_else(daemon, photos):
    with open_loader(photos, shuffle=True, seed=1) as loader:
        state = loader.state_dict()
        with pytest.raises(forebay.StateError, match="another version of the"):
            loader.load_state_dict(dict(state, dataset_version="0" * 32))
    with open_loader(photos, shuffle=True, seed=2) as loader:
        with pytest.raises(forebay.StateError, match="another seed: 1, not 2"):
            loader.load_state_dict(state)
    for shuffle, said in ((False, "shuffle=False"), ("block", 'shuffle="block"')):
        with open_loader(photos, shuffle=shuffle, seed=1) as loader:
            with pytest.raises(forebay.StateError,
                               match=f"another order: shuffle=True, not {said}"):
                loader.load_state_dict(state)


EVERY_KEY = ("version", "dataset_version", "seed", "order", "epoch",
             "position")
NUMBERS_THAT_ARE_NONE = (None, True, "3", 1.5, [3], {}, b"3", float("nan"), -1,
                         2**63, 2**64, 10**100)


def damages(state):
    """Returns states that a person, or a disk, has damaged."""
    yield from (None, [], "", b"", 7, {}, list(state.items()))
    for key in EVERY_KEY:
        yield {name: value for name, value in state.items() if name != key}
        for value in (None, "x" * 10**6, [1], numpy.arange(2), -1, 2**64):
            yield dict(state, **{key: value})
    for value in NUMBERS_THAT_ARE_NONE:
        yield dict(state, epoch=value)
        yield dict(state, position=value)
    yield dict(state, position=SAMPLES + 1)


def refuses_each(loader, states):
    before = loader.state_dict()
    for state in states:
        with pytest.raises(forebay.StateError) as caught:
            loader.load_state_dict(state)
        assert len(str(caught.value)) < 500
        assert loader.state_dict() == before


def test_refuses_a_damaged_state(daemon, photos):
    with open_loader(photos, shuffle=True, seed=1) as loader:
        iterator = iter(loader)
        first = ids([next(iterator)])
        state = loader.state_dict()
        refuses_each(loader, damages(state))
        # The refused states do not affect the running iteration.
        assert sorted(first + ids(iterator)) == list(range(SAMPLES))
        for position in (0, SAMPLES):
            loader.load_state_dict(dict(state, position=position, more="?"))
            assert loader.state_dict()["position"] == position


def test_refuses_a_damaged_state_of_a_sampler(daemon, photos):
    generator = torch.Generator().manual_seed(4)
    sampler = torch.utils.data.RandomSampler(range(SAMPLES), num_samples=30,
                                             generator=generator)
    with open_loader(photos, sampler=sampler) as loader:
        refuses_each(loader, [dict(loader.state_dict(), position=1)])
        next(iter(loader))
        state = loader.state_dict()
        indices = state["indices"]
        refuses_each(loader, damages(state))
        refuses_each(loader, (dict(state, indices=value) for value in (
            None, indices[:-1], indices.hex(), list(indices), b"\xff" * 80,
            SAMPLES.to_bytes(8, "little") * 30)))
        refuses_each(loader, [dict(state, position=31)])
        before = generator.get_state()
        refuses_each(loader, (dict(state, generator=value) for value in (
            b"", b"?", state["generator"][:-1], "?", 7)))
        assert torch.equal(generator.get_state(), before)
        loader.load_state_dict(state)
        assert ids(loader) == list(numpy.frombuffer(indices, "<i8")[8:])


def test_refuses_a_damaged_state_of_a_coordinated_order(daemon, photos):
    with open_loader(photos, shuffle=True, order="coordinated") as loader:
        next(iter(loader))
        state = loader.state_dict()
        refuses_each(loader, damages(state))
        refuses_each(loader, (dict(state, seen=value) for value in (
            None, 7, b"", "", "?", state["seen"][4:], state["seen"] + "AAAA",
            "\u20ac")))


def test_refuses_epochs_that_nobody_has(daemon, photos):
    with open_loader(photos, shuffle=True) as loader:
        for epoch in (-1, 2**63, 2**64 - 1, 2**64, 10**100):
            with pytest.raises(forebay.InvalidArgument, match="2\\*\\*63 - 1"):
                loader.set_epoch(epoch)
        for epoch in (None, "1", 1.0):
            with pytest.raises(TypeError):
                loader.set_epoch(epoch)
        assert loader.state_dict()["epoch"] == 0
        loader.set_epoch(numpy.int64(2**63 - 1))
        assert len(set(ids(loader))) == SAMPLES
        with pytest.raises(forebay.InvalidArgument, match="2\\^63"):
            iter(loader)


def test_refuses_epochs_that_a_sampler_was_told(daemon, photos):
    sampler = torch.utils.data.DistributedSampler(range(SAMPLES), 1, 0)
    with open_loader(photos, sampler=sampler) as loader:
        for epoch in (-1, 2**63):
            sampler.set_epoch(epoch)
            with pytest.raises(forebay.InvalidArgument, match=str(epoch)):
                iter(loader)
        sampler.set_epoch(3)
        assert len(ids(loader)) == SAMPLES


def test_the_library_refuses_epochs_that_nobody_has(daemon, photos):
    with open_loader(photos, shuffle=True) as loader:
        connection = loader._attachment.connection
        for epoch, first in ((2**63, 0), (2**64 - 1, 0), (0, 2**63),
                             (0, 2**64 - 1)):
            with pytest.raises(forebay.InvalidArgument, match="below 2\\^63"):
                connection.start_epoch(epoch, first)
        assert len(ids(loader)) == SAMPLES


def test_ranks_share_an_epoch(daemon, photos):
    seen = []
    for rank in range(3):
        with open_loader(photos, shuffle=True, rank=rank, world_size=3,
                         drop_last=True, batch_size=5) as loader:
            assert len(loader) == 3
            assert len(list(loader)) == 3
            loader.set_epoch(0)
        with open_loader(photos, shuffle=True, rank=rank,
                         world_size=3) as loader:
            seen += ids(loader)
    assert sorted(seen) == list(range(SAMPLES))


def test_distributed_reads_the_launchers_variables(daemon, photos, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with open_loader(photos, distributed=True) as loader:
        assert ids(loader) == list(range(1, SAMPLES, 2))


@pytest.mark.parametrize("arguments,error", [
    ({"device": "cuda:0"}, forebay.Unsupported),
    ({"order": "coordinated"}, forebay.InvalidArgument),
    ({"sharing": "no"}, forebay.InvalidArgument),
    ({"shuffle": "blocks"}, forebay.InvalidArgument),
    ({"pin_memory": True}, forebay.Unsupported),
    ({"batch_size": 0}, forebay.InvalidArgument),
    ({"rank": 2, "world_size": 2}, forebay.InvalidArgument),
    ({"pad": "zero"}, forebay.InvalidArgument),
    ({"on_error": "ignore"}, forebay.InvalidArgument),
    ({"framework": "jax"}, forebay.InvalidArgument),
    ({"transform": lambda image: image}, forebay.InvalidArgument),
])
def test_refuses_what_it_cannot_do(daemon, photos, arguments, error):
    with pytest.raises(error):
        open_loader(photos, **arguments)


def test_missing_folder(daemon, tmp_path):
    with pytest.raises(forebay.NotFound, match="nowhere"):
        open_loader(tmp_path / "nowhere")


def test_a_weight_that_was_set_outlasts_who_attaches(daemon, photos):
    def jobs():
        said = subprocess.run(
            [CTL, "--json", "--runtime-dir", daemon.runtime_dir, "jobs"],
            check=True, stdout=subprocess.PIPE).stdout
        return json.loads(said)["jobs"]

    def set_weight(job, weight):
        return subprocess.run(
            [CTL, "--runtime-dir", daemon.runtime_dir, "set", job, "--weight",
             str(weight)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    with open_loader(photos, weight=2) as loader:
        (job,) = jobs()
        assert job["weight"] == 2
        done = set_weight(job["name"], 8)
        assert done.returncode == 0, done.stdout
        assert jobs()[0]["weight"] == 8
        assert sorted(ids(loader)) == list(range(SAMPLES))
        with open_loader(photos, weight=3) as another:
            assert jobs()[0]["weight"] == 8
            assert sorted(ids(another)) == list(range(SAMPLES))
        done = set_weight("nobody", 1)
        assert done.returncode == 1
        assert job["name"] in done.stdout.decode()
