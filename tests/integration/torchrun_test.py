"""Ranks under a real torchrun. One rank dies. All ranks are restarted, and go on from
the state that rank 0 has saved."""

import collections
import json
import os
import subprocess
import sys

import pytest

from trouble import CROP, PATIENCE, open_loader
from forebay import transforms as T

RANKS = 2
STEPS_BEFORE = 3  # steps of the first ranks; two of them are saved

SCRIPT = """
import os, signal, sys
import torch
import torch.distributed as dist
import forebay
from forebay import transforms as T

photos, folder = sys.argv[1:]
life = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("gloo")
loader = forebay.DataLoader(photos, batch_size=4, shuffle=True, seed=6,
                            distributed=True, transform=T.CenterCrop(%r))
assert (loader.rank, loader.world_size) == (dist.get_rank(),
                                            dist.get_world_size())
assert loader.local_rank == loader.rank
saved = os.path.join(folder, "state")
if os.path.exists(saved):
    loader.load_state_dict(torch.load(saved))
with open(f"{folder}/{life}-{loader.rank}", "w") as said:
    for step, batch in enumerate(loader):
        ids = batch.sample_ids
        every = [torch.empty_like(ids) for _ in range(loader.world_size)]
        dist.all_gather(every, ids)
        print(torch.stack(every, 1).flatten().tolist(), file=said)
        said.flush()
        if life == 0 and step == %d:
            if loader.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        elif loader.rank == 0:
            torch.save(loader.state_dict(), saved + ".new")
            os.replace(saved + ".new", saved)
""" % (CROP, STEPS_BEFORE - 1)


# On a busy machine, the launcher restarts ranks that take too long to meet.
@pytest.mark.alone
def test_a_dead_rank_and_its_restart(daemon, photos, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--rdzv_backend=c10d",
         "--rdzv_endpoint=localhost:0",
         "--nnodes=1", f"--nproc_per_node={RANKS}", "--max_restarts=2",
         "--monitor_interval=0.2",
         # The default rendezvous of Debian's torch 1.13 fails with its Python 3.11.
         "--redirects=1", "--tee=1", f"--log_dir={tmp_path}",
         str(script), str(photos), str(tmp_path)],
        env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=PATIENCE)
    said = run.stdout.decode()
    assert run.returncode == 0, said

    def steps(life, rank):
        lines = (tmp_path / f"{life}-{rank}").read_text().splitlines()
        return [json.loads(line) for line in lines]

    assert not (tmp_path / "2-0").exists(), said
    # Before and after the restart, both ranks saw the same steps.
    lives = [steps(life, 0) for life in range(2)]
    for life in range(2):
        shorter = min(len(lives[life]), len(steps(life, 1)))
        assert lives[life][:shorter] == steps(life, 1)[:shorter], said
    assert len(lives[0]) >= STEPS_BEFORE - 1, said
    # Which step rank 0 saved last depends on when torchrun ended rank 0.
    whole = [number for step in lives[1] for number in step]
    with open_loader(photos, shuffle=True, seed=6,
                     transform=T.CenterCrop(CROP)) as loader:
        expected = [int(i) for batch in loader for i in batch.sample_ids]
    saved = len(expected) - len(whole)
    assert saved == 4 * RANKS * (STEPS_BEFORE - 1), said
    assert whole == expected[saved:], said
    seen = collections.Counter(whole)
    seen.update(number for step in lives[0][:STEPS_BEFORE - 1]
                for number in step)
    assert seen == collections.Counter(range(len(expected)))
