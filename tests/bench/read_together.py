"""Reads as a trainer among several, from an agreed moment on, and tells what it
got when.

Says "ready" when its loader is there, and waits for a line of JSON on standard
input that names the moments: "begin" and "end", seconds of time.monotonic().
"""

import json
import os
import signal
import sys
import time

# As one value of every sample.
VALUES = (slice(None), 0, 0, 0)


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


def measure(uri, batch_size=64, manifest=False, dtype="float32", period=0.0,
            epochs=None, workers=None, counter=None, kind="forebay",
            stage=None, shared=False):
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
      shared: whether one process makes these samples for all trainers, by
        forebay.share of torch's DataLoader, whose num_workers is `workers`.

    Returns:
      A dict: "taken", pairs of a time and the images taken then; "stats", of
      Forebay's loader.
    """
    if shared:
        import forebay
        import python_stage
        loader = forebay.share(lambda: python_stage.loader(
            python_stage.Photos(uri, os.devnull), "torch", batch_size, workers),
            key="bench")
    elif counter is not None or stage is not None:
        import python_stage
        dataset = (python_stage.Photos(uri, counter) if stage is None else
                   python_stage.Waiting() if stage == "waiting" else
                   python_stage.folder(uri, stage))
        loader = python_stage.loader(dataset, kind, batch_size, workers)
    else:
        loader = (_forebay(uri, batch_size, manifest, dtype) if workers is None
                  else _torch(uri, batch_size, workers))
    taken, total, epoch = [], 0, 0
    print("ready", flush=True)
    agreed = json.loads(sys.stdin.readline())
    begin, end = agreed["begin"], agreed["end"]
    time.sleep(max(0.0, begin - time.monotonic()))
    due = begin
    while time.monotonic() < end and epoch != epochs:
        for images, labels in loader:
            total += float(images[VALUES].sum())
            taken.append((time.monotonic(), len(labels)))
            if taken[-1][0] >= end:
                break
            due = max(due + period, taken[-1][0])
            if due > taken[-1][0]:
                time.sleep(due - taken[-1][0])
        epoch += 1
    stats = dict(loader.stats()) if workers is None or shared else {}
    return {"taken": taken, "stats": stats, "sum": total}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(json.dumps(measure(**json.loads(sys.argv[1])), default=str))
