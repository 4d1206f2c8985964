"""Measures HDFS by WebHDFS behind a slow link against libcurl alone: see
far_buckets.py.

The cluster is the one of the unit tests, as seen through a gateway. Each read is
redirected from the name node to the data node, and the link delays both requests. This
holds for libcurl, too. Forebay also asks for the file's version, which libcurl does
not.
"""

from far_buckets import measure, serving


def run():
    """Returns the rows of far_buckets.measure."""
    with serving("hdfs") as (port, pid):
        return measure("webhdfs", port, pid, "hdfs://cluster/bucket",
                       "/webhdfs/v1/bucket/", query="?op=OPEN")
