"""S3 behind a slow link against libcurl alone: see far_buckets.py.

Our requests are signed; libcurl's are not. The server is that of the unit tests,
for moto makes some hundreds of answers a second: it does not look at signatures.
"""

import pathlib
import tempfile

from far_buckets import measure, serving

KEYS = ("[default]\naws_access_key_id = AKIABENCH\n"
        "aws_secret_access_key = secret\n")


def run():
    """Rows: see measure()."""
    with tempfile.TemporaryDirectory() as temporary, \
            serving("s3") as (port, pid):
        credentials = pathlib.Path(temporary) / "credentials"
        credentials.write_text(KEYS)
        return measure("s3", port, pid, "s3://bucket", "/bucket/",
                       ("--credentials", str(credentials)))
