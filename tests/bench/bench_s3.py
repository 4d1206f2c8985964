"""Measures S3 behind a slow link against libcurl alone: see far_buckets.py.

Forebay's requests are signed, and libcurl's are not. The server is the one of the unit
tests, which does not check signatures. moto would be too slow: it makes some hundreds
of answers per second.
"""

import pathlib
import tempfile

from far_buckets import measure, serving

KEYS = ("[default]\naws_access_key_id = AKIABENCH\n"
        "aws_secret_access_key = secret\n")


def run():
    """Returns the rows of far_buckets.measure."""
    with tempfile.TemporaryDirectory() as temporary, \
            serving("s3") as (port, pid):
        credentials = pathlib.Path(temporary) / "credentials"
        credentials.write_text(KEYS)
        return measure("s3", port, pid, "s3://bucket", "/bucket/",
                       ("--credentials", str(credentials)))
