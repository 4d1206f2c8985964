"""CPU time and memory of sessions: of the processes that lead them and of all processes
that these have started."""

import contextlib
import os
import pathlib

_TICKS = os.sysconf("SC_CLK_TCK")


def _processes(sessions):
    """Yields each process of the sessions: its folder in /proc, and the fields of
    `stat` after the name."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # the process has ended
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
            if int(fields[3]) in sessions:
                yield folder, fields


def cpu_seconds(sessions):
    """Returns the CPU seconds used so far, those of ended children included."""
    return sum(sum(map(int, fields[11:15]))
               for _, fields in _processes(sessions)) / _TICKS


def memory_bytes(sessions):
    """Returns the memory of all processes together, without pages of files. Counts
    shared pages once."""
    total = 0
    for folder, _ in _processes(sessions):
        with contextlib.suppress(OSError):
            for line in (folder / "smaps_rollup").read_text().splitlines():
                if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                    total += int(line.split()[1]) * 1024
    return total
