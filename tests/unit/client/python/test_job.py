"""To which job a process belongs, and the name that is shown for it."""

import os

import pytest
import torch

import forebay
from forebay import _job

LAUNCHERS = ("FOREBAY_JOB", "SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT",
             "TORCHELASTIC_RUN_ID", *sum(_job._RANK_VARIABLES, ()))


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for variable in LAUNCHERS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("sys.argv", ["/home/me/train.py", "--epochs", "9"])
    return monkeypatch


def test_a_process_of_its_own_is_called_by_script_and_number():
    assert str(os.getpid()) in _job.job_key()
    assert _job.job_name() == f"train.py-{os.getpid()}"


@pytest.mark.parametrize("program", ["", "-c", "-"])
def test_a_process_without_a_script_has_a_name_too(alone, program):
    alone.setattr("sys.argv", [program])
    assert _job.job_name() == f"python-{os.getpid()}"


def test_ranks_of_a_launcher_share_key_and_name(alone):
    alone.setenv("MASTER_ADDR", "10.0.0.1")
    alone.setenv("MASTER_PORT", "29500")
    alone.setenv("TORCHELASTIC_RUN_ID", "r1")
    assert _job.job_key() == f"{os.getuid()}-10.0.0.1:29500-r1"
    assert _job.job_name() == "train.py"


def test_slurm_and_a_name_of_ones_own_come_first(alone):
    alone.setenv("MASTER_ADDR", "10.0.0.1")
    alone.setenv("MASTER_PORT", "29500")
    alone.setenv("SLURM_JOB_ID", "17")
    assert _job.job_key() == _job.job_name() == "slurm-17"
    alone.setenv("FOREBAY_JOB", "sweep 3")
    assert _job.job_key() == _job.job_name() == "sweep 3"


@pytest.mark.parametrize("names", [
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"),
])
def test_ranks_are_the_launchers(alone, names):
    for name, value in zip(names, ("5", "8", "1")):
        alone.setenv(name, value)
    assert _job.distributed_rank() == (5, 8, 1)
    alone.delenv(names[2])
    assert _job.distributed_rank() == (5, 8, 0)
    for wrong in ("8", "-1", "five"):
        alone.setenv(names[0], wrong)
        with pytest.raises(forebay.InvalidArgument, match=names[0]):
            _job.distributed_rank()


def test_torchrun_within_a_slurm_step_is_torchruns(alone):
    for name, value in (("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"),
                        ("RANK", "11"), ("WORLD_SIZE", "16"),
                        ("LOCAL_RANK", "3")):
        alone.setenv(name, value)
    assert _job.distributed_rank() == (11, 16, 3)


def test_a_running_process_group_knows_best(alone, tmp_path):
    """Lightning and multiprocessing start the first rank without a RANK."""
    alone.setenv("SLURM_PROCID", "1")
    alone.setenv("SLURM_NTASKS", "2")
    alone.setenv("LOCAL_RANK", "0")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        assert _job.distributed_rank() == (0, 1, 0)
    finally:
        torch.distributed.destroy_process_group()
    assert _job.distributed_rank() == (1, 2, 0)


def test_without_a_launcher_there_are_no_ranks(alone):
    with pytest.raises(forebay.InvalidArgument, match="RANK and WORLD_SIZE"):
        _job.distributed_rank()
