"""The cache's hit ratio beside who knows the future, and what a hit costs.

The real cache, fed by the real samplers, is replayed in simulated time: loaders
with seeds of their own read 20,000 samples of one size, and hits are counted
after the first epoch. Clairvoyant is Belady's algorithm with bypass on the
recorded trace: nobody can do better.
"""

import json
import subprocess

from figures import row
from readers import program

# The hit ratio may be so much below the clairvoyant one, and a hit may take so
# many microseconds.
MOST_BELOW, MOST_MICROSECONDS = 0.02, 2


def measured(name):
    """What a program of the folder cache/ prints."""
    done = subprocess.run([program(f"cache/{name}")], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def run():
    """Rows: the worst case, every case, LRU, bytes read, costs."""
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
    rows += [
        row("cache", f"bytes read / bytes there are, {whole['case']}",
            whole["bytes_read"], whole["bytes"], "bytes"),
        row("cache", "a hit / bar", costs["hit_us"], MOST_MICROSECONDS, "us"),
        row("cache", "a hit / bare table under a mutex", costs["hit_us"],
            costs["bare_table_us"], "us"),
        row("cache", "a hit beside another thread's / a hit alone",
            costs["hit_of_two_threads_us"], costs["hit_us"], "us"),
        row("cache", "a miss that evicts, 4 loaders / the kernel's copy",
            costs["miss_us"], costs["kernel_copy_us"], "us"),
    ]
    return rows
