"""Reads as a trainer among several, from an agreed moment on, and tells what it
got when.

Says "ready" when its loader is there, and waits for a line of JSON on standard
input that names the moments: "begin" and "end", seconds of time.monotonic().
"""

import contextlib
import json
import os
import signal
import sys
import time

# The index of one value of every sample.
VALUES = (slice(None), 0, 0, 0)
LATE_SECONDS = 2.0  # after the end, until no batch of TensorSocket's is awaited


class _Late(Exception):
    """The time to read is over."""


def _forebay(uri, batch_size, manifest, dtype):
    import forebay
    from read_forebay import transform
    dataset = forebay.manifest(uri, image="path", label="label") if (
        manifest) else uri
    return forebay.DataLoader(
        dataset, batch_size=batch_size, shuffle=True, seed=0,
        transform=transform(dtype), framework="numpy",
        name=os.environ["FOREBAY_JOB"])


def _torch(uri, batch_size, workers):
    import torch
    import torchvision
    from read_torch import MEAN, STD
    ops = torchvision.transforms
    dataset = torchvision.datasets.ImageFolder(uri, ops.Compose([
        ops.RandomResizedCrop(224), ops.RandomHorizontalFlip(),
        ops.ToTensor(), ops.Normalize(MEAN, STD)]))
    return torch.utils.data.DataLoader(
        dataset, batch_size=batch_size, shuffle=True, num_workers=workers)


@contextlib.contextmanager
def _ends_at(moment):
    """Leaves its block at a moment of time.monotonic(), even while it waits."""
    def leave(*_):
        raise _Late

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, moment - time.monotonic()))
    with contextlib.suppress(_Late):
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def measure(uri, batch_size=64, manifest=False, dtype="float32", period=0.0,
            epochs=None, workers=None, counter=None, kind="forebay",
            stage=None, shared=None, ports=None):
    """Reads epochs from the agreed begin until the agreed end.

    Args:
      uri: a folder of class folders, or a manifest.
      batch_size: samples.
      manifest: whether `uri` is one.
      dtype: of the images.
      period: seconds that the trainer takes for a batch at least.
      epochs: to read at most; None: until the end.
      workers: num_workers of torch's DataLoader; None: Forebay.
      counter: of the samples made by python_stage.Photos, if these are read: a
        file; with it, `kind` says whose DataLoader reads, and `workers` is both's.
      stage: of python_stage.folder, if that is read, or "waiting", if
        python_stage.Waiting is; likewise.
      shared: by which one process makes these samples for all trainers, with
        torch's DataLoader of `workers`: "forebay", or a kind of shared_loader.py's.
      ports: of TensorSocket's producer, if it makes them.

    Returns:
      A dict: "taken", pairs of a time and the images taken then; "stats", of
      Forebay's loader.
    """
    if shared is not None:
        import shared_loader
        loader = shared_loader.join(shared, uri, batch_size, workers, ports)
    elif counter is not None or stage is not None:
        import python_stage
        dataset = (python_stage.Photos(uri, counter) if stage is None else
                   python_stage.Waiting() if stage == "waiting" else
                   python_stage.folder(uri, stage))
        loader = python_stage.loader(dataset, kind, batch_size, workers)
    else:
        loader = (_forebay(uri, batch_size, manifest, dtype) if workers is None
                  else _torch(uri, batch_size, workers))
    print("ready", flush=True)
    agreed = json.loads(sys.stdin.readline())
    taken, sums = [], []
    # TensorSocket may never give another batch.
    with contextlib.nullcontext() if ports is None else _ends_at(
            agreed["end"] + LATE_SECONDS):
        _read(loader, agreed["begin"], agreed["end"], period, epochs, taken, sums)
    stats = dict(loader.stats()) if workers is None or shared == "forebay" else {}
    return {"taken": taken, "stats": stats, "sum": sum(sums)}


def _read(loader, begin, end, period, epochs, taken, sums):
    time.sleep(max(0.0, begin - time.monotonic()))
    due, epoch = begin, 0
    while time.monotonic() < end and epoch != epochs:
        for images, labels in loader:
            sums.append(float(images[VALUES].sum()))
            taken.append((time.monotonic(), len(labels)))
            if taken[-1][0] >= end:
                break
            due = max(due + period, taken[-1][0])
            if due > taken[-1][0]:
                time.sleep(due - taken[-1][0])
        epoch += 1


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(json.dumps(measure(**json.loads(sys.argv[1])), default=str))
