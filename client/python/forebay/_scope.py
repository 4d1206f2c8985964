"""Gives a daemon that a trainer starts its own cgroup.

A daemon that a trainer starts also serves later trainers. In the cgroup of the first
trainer, the daemon would end with that trainer's session, and its resources would be
charged to the trainer. The daemon leaves this cgroup only in a login session, or under
the user's own systemd. Containers, batch schedulers and system services rely on it that
their processes stay in their cgroups.
"""

from __future__ import annotations

import os
import pathlib
import shutil
from typing import Callable, Mapping, Optional

_CONTAINER_FILES = (".dockerenv", "run/.containerenv", "run/systemd/container",
                    "run/host/container-manager")
# Environment variables by which containers and jobs of batch schedulers are recognised.
_FOREIGN_VARIABLES = (
    "container", "KUBERNETES_SERVICE_HOST", "SLURM_JOB_ID", "PBS_JOBID",
    "LSB_JOBID", "SGE_TASK_ID", "_CONDOR_SCRATCH_DIR", "FLUX_JOB_ID",
    "OAR_JOB_ID")


def _read(path: pathlib.Path) -> str:
    """Returns a small file's text, stripped; "" if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _least(texts: list[str]) -> str:
    return min(texts, key=int)


def _innermost(texts: list[str]) -> str:
    return texts[0].replace(",", " ")


def _least_quota(texts: list[str]) -> str:
    parts = [int(quota) / int(period) for quota, period in
             (text.split() for text in texts)]
    return f"{100 * min(parts):.2f}%"


# For the file of each limit: systemd's name of the limit, and a function that chooses
# one of the values of several cgroups. The innermost cgroup's value comes first.
_LIMITS: dict[str, tuple[str, Callable[[list[str]], str]]] = {
    "memory.max": ("MemoryMax", _least),
    "memory.high": ("MemoryHigh", _least),
    "memory.swap.max": ("MemorySwapMax", _least),
    "pids.max": ("TasksMax", _least),
    "cpu.max": ("CPUQuota", _least_quota),
    "cpuset.cpus": ("AllowedCPUs", _innermost),
    "cpuset.mems": ("AllowedMemoryNodes", _innermost),
}
# The file with the limits of single devices. These limits are not carried over.
_DEVICE_LIMIT = "io.max"


def _levels(root: pathlib.Path, uid: int) -> Optional[list[pathlib.Path]]:
    """Returns this process's cgroup, and all cgroups between it and the user's slice.

    Returns None if cgroup version 1 is in use, too, or if this process is not in the
    user's slice.
    """
    mount = root / "sys/fs/cgroup"
    lines = _read(root / "proc/self/cgroup").splitlines()
    top = f"user.slice/user-{uid}.slice"
    if len(lines) != 1 or not lines[0].startswith(f"0::/{top}/"):
        return None
    if not (mount / "cgroup.controllers").exists():
        return None
    cgroup = mount / lines[0][len("0::/"):]
    above = [cgroup, *cgroup.parents]
    return above[:above.index(mount / top)]


def _limits_of(levels: list[pathlib.Path]) -> dict[str, list[str]]:
    """Returns, by file, the limits that these cgroups set."""
    found = {}
    for file in (*_LIMITS, _DEVICE_LIMIT):
        texts = [_read(level / file) for level in levels]
        texts = [text for text in texts if text and not text.startswith("max")]
        if texts:
            found[file] = texts
    return found


def _delegated(root: pathlib.Path, uid: int) -> set[str]:
    """Returns the controllers with which the user's systemd may set limits."""
    service = (f"sys/fs/cgroup/user.slice/user-{uid}.slice/"
               f"user@{uid}.service/cgroup.controllers")
    return set(_read(root / service).split())


def launcher(environment: Mapping[str, str], uid: int,
             root: str = "/") -> list[str]:
    """Returns the words to put before a command so that it runs in its own scope, with
    the limits of this process's cgroup.

    Args:
      environment: the environment of this process.
      uid: the user.
      root: the folder that contains proc, run and sys.

    Returns:
      The words, or an empty list if the command must stay in this process's cgroup.
    """
    top = pathlib.Path(root)
    if any(environment.get(name) for name in _FOREIGN_VARIABLES):
        return []
    if any((top / file).exists() for file in _CONTAINER_FILES):
        return []
    runtime = environment.get("XDG_RUNTIME_DIR")
    if not runtime or not os.path.exists(f"{runtime}/systemd/private"):
        return []
    program = shutil.which("systemd-run", path=environment.get("PATH"))
    levels = _levels(top, uid)
    if program is None or levels is None:
        return []
    limits = _limits_of(levels)
    controllers = {file.split(".")[0] for file in limits}
    if _DEVICE_LIMIT in limits or not controllers <= _delegated(top, uid):
        return []
    words = [program, "--user", "--scope", "--quiet", "--collect",
             "--description=Forebay daemon"]
    for file, texts in limits.items():
        name, choose = _LIMITS[file]
        words.append(f"--property={name}={choose(texts)}")
    return [*words, "--"]
