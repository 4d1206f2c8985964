"""Positions, resuming, epochs, ranks."""

import json
import os
import pathlib
import subprocess

import pytest

import forebay
from test_client_batches import SAMPLES, open_loader

CTL = os.environ.get(
    "FOREBAY_CTL",
    pathlib.Path(__file__).resolve().parents[2] /
    "bazel-bin/tools/forebayctl/forebayctl")

pytestmark = pytest.mark.usefixtures("taker")


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
    """Numbers of ranks that do not divide what was read."""
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
