"""Reads epochs through Forebay, and prints the time and CPU time that they took."""

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
OTHER_WORK = 4 << 20  # more bytes than a core's own caches hold


def transform(dtype, size=224, scaled=False):
    """Returns the ops: RandomResizedCrop(size), flip, for floats normalise, to NCHW."""
    ops = [T.Decode(scaled=True)] if scaled else []
    ops += [T.RandomResizedCrop(size), T.RandomHorizontalFlip(), T.ToImage()]
    if dtype != "uint8":
        ops += [T.ToDtype(dtype, scale=True), T.Normalize(MEAN, STD)]
    return T.Compose(ops)


def touch(array):
    """Reads one byte of every page."""
    return int(array.reshape(-1).view(numpy.uint8)[::PAGE].max())


def cpu_nanos():
    """Returns the CPU time of this process, page faults included, in nanoseconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def consume(batch, mode, digest):
    """Uses a batch as `mode` says."""
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
    """Returns the nanoseconds of CPU time of a trainer's own part of a batch: the same
    use of a batch, but of one in ordinary memory.

    Before each measurement, another thread writes all of the memory, as it would a
    batch, and then a part of the next batch. Meanwhile this core does other work.
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
      dtype: the images' dtype.
      batch_size: samples in a batch.
      epochs: how many are measured.
      mode: "read" touches every page, "write" writes in place, "digest" hashes
        all bytes, "none" takes the batches only.
      seed: the seed of order and augmentation.
      skip_epochs: epochs read before measuring.
      memory: whether to report memory after every epoch: the anonymous memory of this
        process, and the daemon's resident memory without the slots.
      daemon_pid: the process id of a daemon whose CPU time and memory are reported,
        too.
      first_batch_only: whether to stop after one batch.
      size: width and height of the images, in pixels.
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
