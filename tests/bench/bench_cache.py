"""Measures the cache's hit ratio against the best possible one, and the cost of a hit.

The real cache and the real samplers run in simulated time. Loaders with different seeds
read 20,000 samples of one size, and hits are counted after the first epoch. The
reference is Belady's algorithm with bypass on the recorded trace, which no cache can
beat because it knows the future.

Then a real daemon runs. Two jobs read one dataset at the same time, and the cache has
room for all of it: every byte must be read from the disk once. Finally one job reads
files from the page cache, by a daemon that keeps them in memory and by a daemon that
keeps nothing. The row compares the CPU times of the two daemons.
"""

import concurrent.futures
import json
import subprocess

import photos
from daemon import ENCODED_ONLY, daemon
from figures import in_turns, row
from readers import call, program

# The most by which the hit ratio may be below the clairvoyant one, and the most
# microseconds that a hit may take.
MOST_BELOW, MOST_MICROSECONDS = 0.02, 2
ROUNDS = 3


def measured(name):
    """Runs a program of the folder cache/, and returns the JSON that the program
    prints."""
    done = subprocess.run([program(f"cache/{name}")], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def bytes_read_by_two(uri):
    """Returns the bytes that a daemon reads from the disk for two jobs of two epochs
    each."""
    with daemon(ENCODED_ONLY + 'memory = "50%"\n') as server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        running = [
            pool.submit(call, "read_forebay.py",
                        dict(server.environment, FOREBAY_JOB=f"job-{seed}"),
                        uri=uri, seed=seed, epochs=2, mode="none")
            for seed in (1, 2)]
        for each in running:
            each.result()
        cache = json.loads(server.ctl("cache", "--json"))
    return int(cache["total"]["source"]["bytes"])


def daemon_cpu_of_both(uri):
    """Returns the microseconds of the daemon's CPU time for each image: with all files
    in its memory, and with none."""
    def cpu(server):
        found = call("read_forebay.py", server.environment, uri=uri,
                     mode="none", daemon_pid=server.pid)
        return found["daemon_cpu_nanos"] / found["images"] / 1e3

    with daemon(ENCODED_ONLY + 'memory = "50%"\n') as keeping, \
            daemon('[cache]\nmemory = "0"\n') as plain:
        cpu(keeping)  # builds the index and fills the cache
        cpu(plain)
        return in_turns(ROUNDS, lambda: cpu(keeping), lambda: cpu(plain))


def run():
    """Returns the rows: the worst case, every case, LRU, bytes read, costs."""
    cases = measured("hit_ratio")
    costs = measured("hit_cost")
    worst = min(cases, key=lambda case: case["ours"] / case["clairvoyant"])
    lowest = max(cases, key=lambda case: case["clairvoyant"] - case["ours"])
    unit = "hit ratio"

    rows = [
        row("cache", f"ours / clairvoyant, the worst of all: {worst['case']}",
            worst["ours"], worst["clairvoyant"], unit),
        row("cache", "clairvoyant - ours, the largest of all / bar",
            lowest["clairvoyant"] - lowest["ours"], MOST_BELOW, unit),
    ]
    for case in cases:
        rows.append(row("cache", f"ours / clairvoyant, {case['case']}",
                        case["ours"], case["clairvoyant"], unit))
    for case in cases:
        rows.append(row("cache", f"LRU / clairvoyant, {case['case']}",
                        case["lru"], case["clairvoyant"], unit))
    whole = cases[-1]
    rows.append(row("cache", f"bytes read / bytes there are, {whole['case']}",
                    whole["bytes_read"], whole["bytes"], "bytes"))
    folder = photos.make()
    there_are = sum(path.stat().st_size for path in folder.rglob("*.jpg"))
    kept, plain = daemon_cpu_of_both(str(folder))
    rows += [
        row("cache", "bytes read from the disk / bytes there are, two jobs",
            bytes_read_by_two(str(folder)), there_are, "bytes"),
        row("cache", "daemon's CPU an image, from memory / from files", kept,
            plain, "us"),
        row("cache", "a hit / bar", costs["hit_us"], MOST_MICROSECONDS, "us"),
        row("cache", "a hit / bare table under a mutex", costs["hit_us"],
            costs["bare_table_us"], "us"),
        row("cache", "a hit of a local file / looking at the file",
            costs["local_hit_us"], costs["look_us"], "us"),
        row("cache", "a hit beside another thread's / a hit alone",
            costs["hit_of_two_threads_us"], costs["hit_us"], "us"),
        row("cache", "a miss that evicts, 4 loaders / the kernel's copy",
            costs["miss_us"], costs["kernel_copy_us"], "us"),
    ]
    return rows
