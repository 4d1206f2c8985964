"""The job of this process, and the process's rank in the job."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple, Optional

from . import _system_error, errors

# The environment variables of rank, world size, and rank on this host. Torchrun's come
# first: torchrun may run within a SLURM step, in which all its processes are one task.
_RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    # Open MPI sets these variables in processes that it starts, such as Horovod's.
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"),
)


class Ranks(NamedTuple):
    """The place of this process in a distributed job.

    Attributes:
      rank: 0 to world_size - 1.
      world_size: number of processes on all hosts.
      local_rank: the rank among the processes on this host; 0 if the launcher does not
        tell.
    """

    rank: int
    world_size: int
    local_rank: int


def _start_time() -> str:
    """Returns when this process started, in clock ticks since boot."""
    with _system_error.exhaustion_of("the start of this process cannot be read"), \
            open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        # The start time is field 22 of /proc/PID/stat (proc(5)). Field 2, the name in
        # parentheses, may contain blanks.
        return file.read().rpartition(")")[2].split()[19]


def job_key() -> str:
    """Returns the key of this process's job; loaders with equal keys belong to one
    job.

    The key is the first of these that exists: $FOREBAY_JOB; SLURM's job id; the user
    with the master address and port and torchrun's run id, if a launcher has set these;
    the process itself.
    """
    env = os.environ
    if env.get("FOREBAY_JOB"):
        return env["FOREBAY_JOB"]
    if env.get("SLURM_JOB_ID"):
        return f"slurm-{env['SLURM_JOB_ID']}"
    user = os.getuid()
    if env.get("MASTER_ADDR") and env.get("MASTER_PORT"):
        key = f"{user}-{env['MASTER_ADDR']}:{env['MASTER_PORT']}"
        run = env.get("TORCHELASTIC_RUN_ID")
        return f"{key}-{run}" if run else key
    return f"{user}-{os.getpid()}-{_start_time()}"


def job_name() -> str:
    """Returns the name by which people know this process's job.

    The name is $FOREBAY_JOB or the key of a SLURM job. Without these, it is the
    script's name, followed by the process id if no launcher groups processes.
    """
    key = job_key()
    if key == os.environ.get("FOREBAY_JOB") or key.startswith("slurm-"):
        return key
    script = os.path.basename(sys.argv[0] if sys.argv else "")
    if script[:1] in ("", "-"):  # with python -c, the name would look like an option
        script = "python"
    alone = key.endswith(_start_time())
    return f"{script}-{os.getpid()}" if alone else script


def _torch_ranks() -> Optional[Ranks]:
    """Returns the ranks in torch.distributed's default group; None if there is no
    group."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if (distributed is None or not distributed.is_available() or
            not distributed.is_initialized()):
        return None
    local = os.environ.get("LOCAL_RANK", "0")
    return Ranks(distributed.get_rank(), distributed.get_world_size(),
                 int(local) if local.isdecimal() else 0)


def _ray_ranks() -> Optional[Ranks]:
    """Returns the ranks of a worker of Ray Train; None in other processes."""
    train = sys.modules.get("ray.train")
    try:
        context = train.get_context()  # type: ignore[union-attr]
        if context.get_experiment_name() is None:
            return None
        return Ranks(context.get_world_rank(), context.get_world_size(),
                     context.get_local_rank())
    except (AttributeError, RuntimeError):  # not Ray's module, or no worker
        return None


def distributed_rank() -> Ranks:
    """Returns the ranks of this process. If torch.distributed runs, it tells the ranks.
    If not, torchrun's variables, Ray Train, or the variables of SLURM or Horovod tell
    them.

    Raises:
      errors.InvalidArgument: nothing tells the ranks, or the variables' values are not
        ranks.
    """
    running = _torch_ranks()
    if running is not None:
        return running
    env = os.environ
    for rank, size, local in _RANK_VARIABLES:
        if rank in env and size in env:
            said = env[rank], env[size], env.get(local, "0")
            try:
                ranks = Ranks(*map(int, said))
            except ValueError:
                ranks = Ranks(-1, 0, 0)
            if 0 <= ranks.rank < ranks.world_size and ranks.local_rank >= 0:
                return ranks
            raise errors.InvalidArgument(
                f"{rank}, {size} and {local} must be a rank, the number of "
                "ranks and the rank on this host, not " +
                ", ".join(map(repr, said)))
        if rank == "RANK":
            # Workers of Ray Train may run within a SLURM step, too.
            workers = _ray_ranks()
            if workers is not None:
                return workers
    raise errors.InvalidArgument(
        "distributed=True needs torch.distributed to run, Ray Train, RANK and "
        "WORLD_SIZE (torchrun), SLURM_PROCID and SLURM_NTASKS, or HOROVOD_RANK and "
        "HOROVOD_SIZE")
