"""Checks that the same seed gives the same bytes, whatever computes them.

The bench tries every vector width of this CPU, and every code path that libjpeg-turbo
and the C library would take on an older CPU. Each runs with several worker counts, in a
daemon of its own.
"""

import json
import platform

import photos
from daemon import daemon
from figures import CORES, row
from readers import call

COUNT, EPOCHS = 600, 2
# The values of cpu.simd, widest first.
WIDTHS = (["sve2_128", "sve_256", "sve2", "sve", "neon", "none"]
          if platform.machine() == "aarch64" else
          ["avx3_dl", "avx3", "avx2", "sse4", "ssse3", "none"])
OLDER = [{"JSIMD_FORCEAVX2": "1"}, {"JSIMD_FORCESSE2": "1"},
         {"JSIMD_FORCENONE": "1"},
         {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-ERMS"}]
WORKERS = sorted({1, 2, 8, CORES})
DTYPES = ("float32", "uint8")  # measured with every worker count
SMALL_DTYPES = ("float16", "bfloat16")  # measured with every width


def _digests(uri, dtypes, cpu, environment=None):
    """Returns the daemon's SIMD target, and the set of (dtype, digest)."""
    with daemon("[cpu]\n" + cpu, environment) as server:
        used = json.loads(server.ctl("status", "--json"))["simd_target"]
        return used.lower(), {
            (dtype, call("read_forebay.py", server.environment, uri=uri,
                         dtype=dtype, mode="digest", epochs=EPOCHS)["digest"])
            for dtype in dtypes}


def run():
    """Returns the rows: the number of distinct digests of each dtype, and of widths
    tried.

    The row of a dtype names its digests, so that versions can be compared.
    """
    uri = str(photos.make(COUNT))
    widest, digests = _digests(uri, DTYPES + SMALL_DTYPES, "")
    widths = WIDTHS[WIDTHS.index(widest):] if widest in WIDTHS else ["none"]
    ways = 1
    for width in widths:
        for workers in WORKERS:
            dtypes = DTYPES + (SMALL_DTYPES if workers == CORES else ())
            used, found = _digests(
                uri, dtypes, f"simd = '{width}'\nworkers = {workers}\n")
            if used != width and width != "none":
                raise RuntimeError(f"{width} was asked for, {used} was used")
            digests |= found
            ways += 1
    for environment in OLDER:
        digests |= _digests(uri, DTYPES, "", environment)[1]
        ways += 1
    rows = []
    for dtype in DTYPES + SMALL_DTYPES:
        found = sorted(digest for kind, digest in digests if kind == dtype)
        rows.append(row(
            "identity", f"{dtype}: distinct results of {ways} daemons / one",
            len(found), 1, "digests") | {"digests": found})
    rows.append(row("identity", "vector widths tried / the architecture's",
                    len(widths), len(WIDTHS), "widths"))
    return rows
