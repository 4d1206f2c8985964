"""Reads epochs through Forebay and tells how long it took and what it cost."""

import hashlib
import json
import os
import resource
import sys
import threading
import time

import numpy

import forebay
from daemon import memory as memory_of
from daemon import process_cpu_nanos, read_cpu_nanos
from forebay import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PAGE = 4096
OTHER_WORK = 4 << 20  # bytes, more than a core's own caches hold


def transform(dtype, size=224, scaled=False):
    """RandomResizedCrop(size), flip and (floats) normalise, to NCHW."""
    ops = [T.Decode(scaled=True)] if scaled else []
    ops += [T.RandomResizedCrop(size), T.RandomHorizontalFlip(), T.ToImage()]
    if dtype != "uint8":
        ops += [T.ToDtype(dtype, scale=True), T.Normalize(MEAN, STD)]
    return T.Compose(ops)


def touch(array):
    """Reads one byte of every page."""
    return int(array.reshape(-1).view(numpy.uint8)[::PAGE].max())


def cpu_nanos():
    """CPU time of this process, page faults included, in nanoseconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def consume(batch, mode, digest):
    """Treats a batch as the mode says."""
    if mode == "write":
        batch[0][...] -= 1
    elif mode == "digest":
        for field in batch[:2]:
            digest.update(numpy.ascontiguousarray(field))
    elif mode == "read":
        touch(batch[0])


def count(batch, result):
    result["images"] += len(batch[1])
    result["batches"] += 1


def trainer_cost(shape, dtype, mode, times):
    """Nanoseconds of CPU that a trainer's own part of a batch costs: what this
    one does with it, done with ordinary memory.

    Another thread has written all of the memory, as that of a batch, and a part of
    the next batch since. This core has been at other work meanwhile.
    """
    batches = numpy.zeros(shape, dtype), numpy.zeros(shape, dtype)
    batch = batches[0], numpy.zeros(len(batches[0]), numpy.int64)
    work = numpy.zeros(OTHER_WORK, numpy.uint8)
    result = {"images": 0, "batches": 0}

    def write():
        batches[0][...] += 1
        batches[1][len(batches[1]) // 2:] += 1

    cost = 0
    for _ in range(times):
        writer = threading.Thread(target=write)
        writer.start()
        writer.join()
        work += 1
        begin = time.thread_time_ns()
        consume(batch, mode, None)
        count(batch, result)
        cost += time.thread_time_ns() - begin
    return cost / times


def measure(uri, dtype="float32", batch_size=64, epochs=1, mode="read",
            seed=0, skip_epochs=0, memory=False, daemon_pid=None,
            first_batch_only=False, size=224, scaled=False):
    """Reads epochs.

    Args:
      uri: the dataset.
      dtype: of the images.
      batch_size: samples.
      epochs: how many are measured.
      mode: "read" touches every page, "write" writes in place, "digest" hashes
        all bytes, "none" takes the batches only.
      seed: of order and augmentation.
      skip_epochs: epochs read before measuring.
      memory: whether to tell, after every epoch, the anonymous memory of this
        process and what the daemon has resident besides slots.
      daemon_pid: whose CPU time and memory is to be told, too.
      first_batch_only: whether to leave after one batch.
      size: of the images, in pixels.
      scaled: whether JPEGs may be decoded at a smaller scale.

    Returns:
      A dict; times in seconds, CPU in nanoseconds.
    """
    digest = hashlib.blake2b()
    result = {"images": 0, "batches": 0, "rss_anon": [], "daemon_rss": [],
              "epoch_seconds": []}
    opened = time.monotonic()
    loader = forebay.DataLoader(
        uri, batch_size=batch_size, shuffle=True, seed=seed,
        transform=transform(dtype, size, scaled), framework="numpy")
    for epoch in range(skip_epochs + epochs):
        if epoch == skip_epochs:
            result["stats_before"] = dict(loader.stats())
            if daemon_pid:
                read_cpu = read_cpu_nanos()
                daemon_cpu = process_cpu_nanos(daemon_pid)
            cpu = cpu_nanos()
        begin = time.monotonic()
        for batch in loader:
            if "first_batch_seconds" not in result:
                result["first_batch_seconds"] = time.monotonic() - opened
            shape = batch[0].shape
            if first_batch_only:
                break
            consume(batch, mode, digest)
            if epoch >= skip_epochs:
                count(batch, result)
        if epoch >= skip_epochs:
            result["epoch_seconds"].append(time.monotonic() - begin)
        if memory:
            result["rss_anon"].append(memory_of(os.getpid())["anon"])
            if daemon_pid:
                found = memory_of(daemon_pid)
                result["daemon_rss"].append(found["anon"] + found["file"])
    result["cpu_nanos"] = cpu_nanos() - cpu
    if daemon_pid:
        result["daemon_cpu_nanos"] = process_cpu_nanos(daemon_pid) - daemon_cpu
        result["daemon_read_cpu_nanos"] = read_cpu_nanos() - read_cpu
    result["stats"] = dict(loader.stats())
    del batch
    loader.close()
    result["seconds"] = sum(result["epoch_seconds"])
    result["digest"] = digest.hexdigest()
    if mode in ("read", "none"):
        full = (batch_size,) + tuple(shape[1:])
        result["trainer_nanos"] = trainer_cost(full, dtype, mode, 30)
    return result


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1])), default=str))
