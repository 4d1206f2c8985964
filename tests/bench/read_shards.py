"""Reads one epoch of shards whose samples are plain bytes, and tells how long
it took and what it asked of their bucket."""

import json
import subprocess
import sys
import time

import forebay
from daemon import CTL


def requests():
    """Requests for bytes that the daemon in the environment has made."""
    jobs = json.loads(subprocess.run([str(CTL), "jobs", "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)["jobs"]
    return sum(int(job.get("remote_requests", {}).get("reads", 0))
               for job in jobs)


def measure(uri, shuffle, batch_size=64):
    """Reads an epoch.

    Args:
      uri: the shards.
      shuffle: as DataLoader's.
      batch_size: samples.

    Returns:
      A dict: samples, seconds (from the first request of it to the last batch),
      requests.
    """
    with forebay.DataLoader(uri, fields=("bin",), batch_size=batch_size,
                            shuffle=shuffle, seed=1,
                            framework="numpy") as loader:
        before = requests()
        samples = 0
        begin = time.monotonic()
        for batch in loader:
            samples += len(batch.sample_ids)
        seconds = time.monotonic() - begin
        return {"samples": samples, "seconds": seconds,
                "requests": requests() - before}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
