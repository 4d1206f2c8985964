"""Measures random cold reads of the daemon's local source against those of fio.

Both read ranges of 100 KiB at random places of the same files, on the same disk. Both
bypass the page cache, use io_uring, and have the same number of reads in flight. fio
uses one thread, registered buffers and files, and submits reads in groups. The local
source opens, checks and closes the file at each read.
"""

import json
import os
import pathlib
import subprocess
import tempfile

import photos
from figures import in_turns, row
from readers import program

ROUNDS = 6
BLOCK, DEPTH, SECONDS = 100 << 10, 64, 4
FILES, FILE_BYTES = 8, 256 << 20
# The CPU time, in microseconds, that the local source may take for a read in addition
# to fio's.
CPU_ALLOWANCE = 5.0


def _write(folder):
    """Writes files of random bytes, which no file system can compress."""
    chunk = os.urandom(16 << 20)
    paths = [folder / f"file-{number}" for number in range(FILES)]
    for path in paths:
        with path.open("wb") as file:
            for _ in range(FILE_BYTES // len(chunk)):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return paths


def _ours(folder):
    done = subprocess.run(
        [program("read_ranges"), str(folder), "--block", str(BLOCK),
         "--depth", str(DEPTH), "--seconds", str(SECONDS)],
        check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    if found["failures"]:
        raise RuntimeError(f"{found['failures']} reads failed")
    return (found["reads"] / found["seconds"],
            found["cpu_seconds"] / found["reads"] * 1e6)


def _fio(paths):
    done = subprocess.run(
        ["fio", "--name=disk", "--ioengine=io_uring", "--direct=1",
         "--fixedbufs", "--registerfiles", "--rw=randread", "--norandommap",
         "--thread", f"--bs={BLOCK}", f"--iodepth={DEPTH}",
         "--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1",
         f"--iodepth_batch_complete_max={DEPTH}",
         "--file_service_type=random", "--filename=" + ":".join(paths),
         f"--runtime={SECONDS}", "--time_based", "--output-format=json"],
        check=True, stdout=subprocess.PIPE)
    job = json.loads(done.stdout)["jobs"][0]
    reads, seconds = job["read"]["total_ios"], job["job_runtime"] / 1000
    busy = (job["usr_cpu"] + job["sys_cpu"]) / 100 * seconds
    return reads / seconds, busy / reads * 1e6


def run():
    """Returns the rows: reads per second, then CPU time per read."""
    folder = photos.folder(photos.DEFAULT_COUNT, photos.DEFAULT_SEED).parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        paths = [str(path) for path in _write(pathlib.Path(temporary))]
        cpu = {"ours": [], "fio": []}

        def rate(name, measure):
            reads, micros = measure()
            cpu[name].append(micros)
            return reads

        ours, fio = in_turns(
            ROUNDS, lambda: rate("ours", lambda: _ours(temporary)),
            lambda: rate("fio", lambda: _fio(paths)))
    median = {name: sorted(values)[ROUNDS // 2]
              for name, values in cpu.items()}
    size = f"{BLOCK >> 10} KiB, {DEPTH} at once"
    return [
        row("disk", f"random cold reads / fio, {size}", ours, fio, "reads/s"),
        row("disk", f"CPU a read / fio's + {CPU_ALLOWANCE:g}", median["ours"],
            median["fio"] + CPU_ALLOWANCE, "us"),
    ]
