"""forebay.inspect of datasets in HDFS, as in a bucket."""

import forebay
from hdfs_test import cluster, contents_of, daemon, fill, serve  # noqa: F401
from inspected_files import members
from remote_shards_test import tar_of


def test_hdfs(daemon, cluster, photos):  # noqa: F811
    fill(cluster, "/data/train", contents_of(photos))
    fill(cluster, "/data/shards", {f"{number}.tar": tar_of(members(photos))
                                   for number in range(2)})
    root = f"webhdfs://{cluster.authority}/data"
    for path, format, samples in (
            ("train", "image_folder", 48), ("shards", "webdataset", 96),
            ("shards/1.tar", "webdataset", 48),
            ("shards/{0..1}.tar", "webdataset", 96)):
        found = forebay.inspect(f"{root}/{path}", verify=True, autostart=False)
        assert (found.format, found.samples) == (format, samples)
        assert found.verification.is_complete and not found.verification.broken
