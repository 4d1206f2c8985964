"""A trainer without a model: reads whole batches and reports its rate.

The trainer prints "ready" when its loader is open, and then waits for a line on
standard input. It prints "reading" at its first batch, and at the end a line of JSON.
"""

import argparse
import json
import sys
import time

import forebay
from forebay import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def training_transform(dtype="float32"):
    """Returns the usual augmentation for ImageNet, with NCHW output of 224 x 224."""
    ops = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToImage()]
    if dtype != "uint8":
        ops += [T.ToDtype(dtype, scale=True), T.Normalize(MEAN, STD)]
    return T.Compose(ops)


def _read(images):
    """Reads every page of the images, as a copy to a GPU would."""
    return int(images.reshape(-1)[::1024].view("uint32").max())


def train(loader, seconds):
    """Reads epoch after epoch until the time is up.

    Returns:
      A dict of images, seconds and epochs begun.
    """
    images = epochs = 0
    begin = time.monotonic()
    end = begin + seconds
    while time.monotonic() < end:
        epochs += 1
        for batch in loader:
            _read(batch[0])
            if not images:
                print("reading", flush=True)
            images += len(batch[1])
            if time.monotonic() >= end:
                break
    return {"images": images, "epochs": epochs,
            "seconds": time.monotonic() - begin}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("uri")
    parser.add_argument("--name", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    with forebay.DataLoader(
            args.uri, batch_size=args.batch_size, shuffle=True,
            seed=args.seed, transform=training_transform(), name=args.name,
            framework="numpy") as loader:
        print("ready", flush=True)
        if not sys.stdin.readline():
            return
        result = train(loader, args.seconds)
        result["stats"] = loader.stats()
    print(json.dumps(result, default=str), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
