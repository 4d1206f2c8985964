"""Measures Cloud Storage behind a slow link against libcurl alone: see far_buckets.py.

The objects, each as large as an image, lie on a real fake-gcs-server.
"""

import os
import pathlib
import sys
import tempfile
import urllib.parse

from far_buckets import OBJECT_BYTES, OBJECTS, measure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cloud"))
from fake_gcs import FakeGcs, missing  # noqa: E402

BUCKET = "bench"


def _fill(folder):
    (folder / BUCKET).mkdir()
    for number in range(OBJECTS):
        (folder / BUCKET / str(number)).write_bytes(os.urandom(OBJECT_BYTES))


def run():
    """Returns the rows of far_buckets.measure."""
    if missing():
        raise RuntimeError(missing())
    with tempfile.TemporaryDirectory() as temporary:
        _fill(pathlib.Path(temporary))
        with FakeGcs(temporary) as server:
            return measure("gcs", urllib.parse.urlparse(server.url).port,
                           server.pid, f"gs://{BUCKET}",
                           f"/storage/v1/b/{BUCKET}/o/")
