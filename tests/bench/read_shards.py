"""Reads one epoch of shards whose samples are plain bytes. Prints the time, and the
number of requests to the shards' bucket."""

import json
import subprocess
import sys
import time

import forebay
from daemon import CTL


def requests():
    """Returns how many requests for bytes the daemon in the environment has made."""
    jobs = json.loads(subprocess.run([str(CTL), "jobs", "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)["jobs"]
    return sum(int(job.get("remote_requests", {}).get("reads", 0))
               for job in jobs)


def measure(uri, shuffle, batch_size=64):
    """Reads an epoch.

    Args:
      uri: the URI of the shards.
      shuffle: the argument of DataLoader.
      batch_size: samples in a batch.

    Returns:
      A dict: samples, seconds (from iter() to the last batch), requests.
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
