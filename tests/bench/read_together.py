"""Reads as one trainer among several, from an agreed time on. Prints how many images it
took at which times.

Prints "ready" when its loader is open. Then waits for a line of JSON on standard input
that names the times "begin" and "end", in seconds of time.monotonic().
"""

import contextlib
import json
import os
import signal
import sys
import time

# The index of one value of every sample.
VALUES = (slice(None), 0, 0, 0)
# After the end; then the wait for TensorSocket's next batch is ended.
LATE_SECONDS = 2.0


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
    """Leaves its block at `moment`, a time of time.monotonic(), even while it waits."""
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
      batch_size: samples in a batch.
      manifest: whether `uri` is a manifest.
      dtype: the images' dtype.
      period: the least seconds that the trainer takes for a batch.
      epochs: the most epochs to read; None: until the end.
      workers: num_workers of torch's DataLoader; None: Forebay.
      counter: the file in which python_stage.Photos counts the samples that it makes.
        If it is given, that dataset is read, by the DataLoader of `kind` with
        `workers`.
      kind: whose DataLoader reads: "forebay" or "torch".
      stage: the argument of python_stage.folder, or "waiting" for python_stage.Waiting.
        If it is given, that dataset is read, by the DataLoader of `kind` with
        `workers`.
      shared: "forebay", or a kind of shared_loader.py's. If it is given, one process
        makes the samples for all trainers, by torch's DataLoader with `workers`.
      ports: the ports of TensorSocket's producer; None: TensorSocket is not used.

    Returns:
      A dict: "taken", pairs of a time and the images taken then; "stats", of Forebay's
      loader.
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
