"""HDFS by WebHDFS behind a slow link against libcurl alone: see far_buckets.py.

The cluster is that of the unit tests, as a gateway shows it: each read is led from
the name node to the data node, and the link makes both late. So is libcurl's. Ours
then asks for the file's version besides, which libcurl does not.
"""

from far_buckets import measure, serving


def run():
    """Rows: see measure()."""
    with serving("hdfs") as (port, pid):
        return measure("webhdfs", port, pid, "hdfs://cluster/bucket",
                       "/webhdfs/v1/bucket/", query="?op=OPEN")
