"""S3 behind a slow link against libcurl alone: see far_buckets.py.

Our requests are signed; libcurl's are not. The server is that of the unit tests,
for moto makes some hundreds of answers a second: it does not look at signatures.
"""

import pathlib
import subprocess
import tempfile

from far_buckets import OBJECT_BYTES, OBJECTS, measure
from readers import program

KEYS = ("[default]\naws_access_key_id = AKIABENCH\n"
        "aws_secret_access_key = secret\n")


def run():
    """Rows: see measure()."""
    with tempfile.TemporaryDirectory() as temporary, subprocess.Popen(
            [program("buckets/serve_s3"), "--objects", str(OBJECTS), "--bytes",
             str(OBJECT_BYTES)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as server:
        credentials = pathlib.Path(temporary) / "credentials"
        credentials.write_text(KEYS)
        try:
            return measure("s3", int(server.stdout.readline()), server.pid,
                           "s3://bucket", "/bucket/",
                           ("--credentials", str(credentials)))
        finally:
            server.stdin.close()
