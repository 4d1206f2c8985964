"""Measures buckets and HDFS behind a slow link: Forebay, and libcurl alone.

A link between a server and the readers adds 30 ms to each request and carries 100 MB/s.
Forebay finds out by itself how many requests at once are best. For libcurl, the bench
takes the best of many numbers of connections. Both are measured after 10 s: at first,
requests that lead to others move in step, and the link is idle while all of them wait.
In a second case, 1 % of all requests stall for 5 s. The link and the server must not be
the bottleneck, so their CPU time is among the rows.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import time

from figures import CORES, in_turns, row
from readers import program

ROUNDS = 3
OBJECTS, OBJECT_BYTES = 512, 100_000
DELAY_MS, MEGABYTES = 30, 100
STALLED, STALL_SECONDS = 0.01, 5
FOUND_SECONDS, SECONDS = 10, 5
CONNECTIONS = (8, 16, 24, 32, 40, 48, 64, 96, 128, 192, 256)


@contextlib.contextmanager
def serving(kind):
    """Serves the bench's objects by a server of the unit tests. Yields its port and
    pid.

    Args:
      kind: "s3" or "hdfs". The objects lie in the bucket, or folder, "bucket".
    """
    with subprocess.Popen(
            [program("buckets/serve_objects"), kind, "--objects", str(OBJECTS),
             "--bytes", str(OBJECT_BYTES)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as process:
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.stdin.close()


@contextlib.contextmanager
def link(port, *options):
    """Runs a link to a port of this host. Yields the link's URL and pid."""
    with subprocess.Popen(
            [program("buckets/slow_link"), str(port), "--delay-ms",
             str(DELAY_MS), "--megabytes", str(MEGABYTES), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield (f"http://127.0.0.1:{int(process.stdout.readline())}",
                   process.pid)
        finally:
            process.stdin.close()


def _measure(command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    if found["failures"]:
        raise RuntimeError(f"{found['failures']} requests failed")
    found["rate"] = found["bytes"] / found["seconds"] / 1e6
    return found


def _ours(url, uri, options):
    return _measure([program("buckets/read_objects"), url, uri, "--warm",
                     str(FOUND_SECONDS), "--seconds", str(SECONDS), *options])


def _bare(base, query, connections, seconds, warm=0.5):
    return _measure([program("buckets/bare_http"), base, "--query", query,
                     "--objects", str(OBJECTS), "--connections",
                     str(connections), "--warm", str(warm),
                     "--seconds", str(seconds)])["rate"]


def _cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class _Watch:
    """Records how busy other processes were during a measurement, as a share of
    time."""

    def __init__(self, server, link):
        self._pids = {"server": server, "link": link}
        self.busiest = {"server": 0.0, "link": 0.0}

    def around(self, measure):
        begin = time.monotonic()
        before = {name: _cpu_seconds(pid) for name, pid in self._pids.items()}
        found = measure()
        wall = time.monotonic() - begin
        for name, pid in self._pids.items():
            share = (_cpu_seconds(pid) - before[name]) / wall
            self.busiest[name] = max(self.busiest[name], share)
        return found


def measure(name, port, pid, uri, path, options=(), query="?alt=media"):
    """Returns the rows: bytes per second, the same with stalls, then the CPU time.

    Args:
      name: the bench's name.
      port, pid: port and process id of a server on this host.
      uri: the bucket's URI. The bucket holds OBJECTS objects of OBJECT_BYTES each,
        named 0, 1, ...
      path: the part of the objects' URLs before their names.
      options: command-line options of Forebay's reader.
      query: the part of the objects' URLs after their names.
    """
    with link(port) as (url, link_pid), \
            link(port, "--stalled", str(STALLED), "--stall-seconds",
                 str(STALL_SECONDS)) as (stalling_url, _):
        best = max(CONNECTIONS,
                   key=lambda count: _bare(url + path, query, count, 2))
        watch, found = _Watch(pid, link_pid), {url: [], stalling_url: []}

        def ours(address):
            found[address].append(
                watch.around(lambda: _ours(address, uri, options)))
            return found[address][-1]["rate"]

        calm, bare, stalling = in_turns(
            ROUNDS, lambda: ours(url),
            lambda: _bare(url + path, query, best, SECONDS, FOUND_SECONDS),
            lambda: ours(stalling_url))
    tuned = sorted(one["concurrency"] for one in found[url])[ROUNDS // 2]
    hedges = sum(one["hedges"] for one in found[stalling_url])
    requests = sum(one["requests"] for one in found[stalling_url])
    return [
        row(name, f"ours / libcurl alone, {best} connections", calm, bare,
            "MB/s"),
        row(name, f"{STALLED:.0%} stalled for {STALL_SECONDS} s / none",
            stalling, calm, "MB/s"),
        row(name, "requests at once, found / best of bare", tuned, best,
            "requests"),
        row(name, "requests made twice / stalled", hedges,
            requests * STALLED, "requests"),
        row(name, "the link's CPU / a core", watch.busiest["link"], 1,
            "cores"),
        row(name, "the server's CPU / all cores", watch.busiest["server"],
            CORES, "cores"),
    ]
