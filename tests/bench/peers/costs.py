"""CPU time and memory of sessions of processes: each that was started as the leader
of a session, and all that come of it."""

import contextlib
import os
import pathlib

_TICKS = os.sysconf("SC_CLK_TCK")


def _processes(sessions):
    """Yields the folder in /proc, and the fields of stat after the name, of each."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it has ended
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
            if int(fields[3]) in sessions:
                yield folder, fields


def cpu_seconds(sessions):
    """Returns the CPU time so far, that of ended children included, in seconds."""
    return sum(sum(map(int, fields[11:15]))
               for _, fields in _processes(sessions)) / _TICKS


def memory_bytes(sessions):
    """Returns the memory of all together, without the pages of files: shared pages
    are counted once."""
    total = 0
    for folder, _ in _processes(sessions):
        with contextlib.suppress(OSError):
            for line in (folder / "smaps_rollup").read_text().splitlines():
                if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                    total += int(line.split()[1]) * 1024
    return total
