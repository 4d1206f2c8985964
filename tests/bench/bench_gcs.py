"""Cloud Storage behind a slow link against libcurl alone.

A real fake-gcs-server holds objects of an image's size; between it and the
readers is a link that adds 30 ms to each request and carries 100 MB/s. Ours
finds out by itself how many requests at once are best, and is measured after
10 s; libcurl alone reads with the best of many numbers of connections. Then 1 %
of all requests stall for 5 s. The link and the server must not be what limits
it: their CPU time is among the rows.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

from figures import CORES, in_turns, row
from readers import program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cloud"))
from fake_gcs import FakeGcs, missing  # noqa: E402

ROUNDS = 3
OBJECTS, OBJECT_BYTES = 512, 100_000
DELAY_MS, MEGABYTES = 30, 100
STALLED, STALL_SECONDS = 0.01, 5
FOUND_SECONDS, SECONDS = 10, 5
CONNECTIONS = (8, 16, 24, 32, 40, 48, 64, 96, 128, 192, 256)
BUCKET = "bench"


@contextlib.contextmanager
def link(server, *options):
    """A running link: its URL, and its process's number."""
    port = urllib.parse.urlparse(server.url).port
    with subprocess.Popen(
            [program("gcs/slow_link"), str(port), "--delay-ms", str(DELAY_MS),
             "--megabytes", str(MEGABYTES), *options],
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


def _ours(url):
    return _measure([program("gcs/read_gcs"), url, f"gs://{BUCKET}", "--warm",
                     str(FOUND_SECONDS), "--seconds", str(SECONDS)])


def _bare(url, connections, seconds):
    base = f"{url}/storage/v1/b/{BUCKET}/o/"
    return _measure([program("gcs/bare_http"), base, "--objects", str(OBJECTS),
                     "--connections", str(connections), "--seconds",
                     str(seconds)])["rate"]


def _cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class _Watch:
    """Records the share of time that other processes were busy during a
    measurement."""

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


def _fill(folder):
    (folder / BUCKET).mkdir()
    for number in range(OBJECTS):
        (folder / BUCKET / str(number)).write_bytes(os.urandom(OBJECT_BYTES))


def run():
    """Rows: bytes a second, then with stalls, then what it took."""
    if missing():
        raise RuntimeError(missing())
    with tempfile.TemporaryDirectory() as temporary:
        _fill(pathlib.Path(temporary))
        with FakeGcs(temporary) as server, link(server) as (url, pid), \
                link(server, "--stalled", str(STALLED), "--stall-seconds",
                     str(STALL_SECONDS)) as (stalling_url, _):
            best = max(CONNECTIONS, key=lambda count: _bare(url, count, 2))
            watch, found = _Watch(server.pid, pid), []

            def ours(address):
                found.append(watch.around(lambda: _ours(address)))
                return found[-1]["rate"]

            calm, bare, stalling = in_turns(
                ROUNDS, lambda: ours(url), lambda: _bare(url, best, SECONDS),
                lambda: ours(stalling_url))
    tuned = sorted(one["concurrency"] for one in found[0::2])[ROUNDS // 2]
    hedges = sum(one["hedges"] for one in found[1::2])
    requests = sum(one["requests"] for one in found[1::2])
    return [
        row("gcs", f"ours / libcurl alone, {best} connections", calm, bare,
            "MB/s"),
        row("gcs", f"{STALLED:.0%} stalled for {STALL_SECONDS} s / none",
            stalling, calm, "MB/s"),
        row("gcs", "requests at once, found / best of bare", tuned, best,
            "requests"),
        row("gcs", "requests made twice / stalled", hedges,
            requests * STALLED, "requests"),
        row("gcs", "the link's CPU / a core", watch.busiest["link"], 1,
            "cores"),
        row("gcs", "the server's CPU / all cores", watch.busiest["server"],
            CORES, "cores"),
    ]
