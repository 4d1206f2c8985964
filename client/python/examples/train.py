"""Trains a small convolutional network on a folder of class folders.

    python train.py /data/train --validation /data/val --epochs 20

On two CPU cores, one minute with a few thousand photographs gives an accuracy far above
chance. Without --validation, the accuracy is that on the training images,
which says little about other images. With --checkpoint, the model, the optimizer and
the loader's position are saved
at the end of each epoch, and when --max-steps ends the
run. The next run with the same
checkpoint goes on with the very next sample.
"""

import argparse
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

import forebay
from forebay import transforms as T

SIZE = 64  # pixels of an image's edge
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FINISH = [T.ToImage(), T.ToDtype("float32", scale=True), T.Normalize(MEAN, STD)]
AUGMENTED = T.Compose([T.RandomResizedCrop(SIZE, scale=(0.3, 1.0)),
                       T.RandomHorizontalFlip(), *FINISH])
PLAIN = T.Compose([T.Resize(SIZE), T.CenterCrop(SIZE), *FINISH])


def network(classes):
    """Makes the network: (N, 3, SIZE, SIZE) float32 becomes (N, classes) logits."""
    layers, width = [], 3
    for channels in (24, 48, 96, 128):
        layers += [nn.Conv2d(width, channels, 3, padding=1, bias=False),
                   nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)]
        width = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(width, classes))


@torch.no_grad()
def accuracy(model, loader):
    """The fraction of a loader's images that the model classifies correctly."""
    model.eval()
    right = seen = 0
    for images, labels in loader:
        right += (model(images).argmax(1) == labels).sum().item()
        seen += len(labels)
    model.train()
    return right / seen


class Training:
    """A model, and everything else that a checkpoint holds."""

    def __init__(self, args):
        self.loader = forebay.DataLoader(
            args.train, args.batch_size, shuffle=True, drop_last=True,
            seed=args.seed, transform=AUGMENTED, name="train")
        torch.manual_seed(args.seed)
        self.model = network(len(self.loader.dataset.classes))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.epoch = self.step = 0
        self._checkpoint = args.checkpoint
        if self._checkpoint and os.path.exists(self._checkpoint):
            self._resume(torch.load(self._checkpoint))

    def _resume(self, saved):
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.loader.load_state_dict(saved["loader"])
        self.epoch, self.step = saved["epoch"], saved["step"]
        print(f"goes on after step {self.step}, in epoch {self.epoch}")

    def save(self):
        """Writes the checkpoint. If the run is killed meanwhile, the old checkpoint
        stays."""
        if not self._checkpoint:
            return
        fresh = self._checkpoint + ".new"
        torch.save({"model": self.model.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "loader": self.loader.state_dict(),
                    "epoch": self.epoch, "step": self.step}, fresh)
        os.replace(fresh, self._checkpoint)

    def run_epoch(self, max_steps):
        """Trains for the rest of an epoch, to step `max_steps` at most; returns the
        losses."""
        losses = []
        for images, labels in self.loader:
            loss = F.cross_entropy(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
            self.step += 1
            if self.step == max_steps:
                return losses
        self.epoch += 1
        return losses


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a folder of class folders")
    parser.add_argument("--validation", metavar="FOLDER",
                        help="class folders of other images, to measure the accuracy "
                        "on; without them, it is measured on the training images")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", metavar="FILE")
    parser.add_argument("--max-steps", type=int, default=-1,
                        help="end after so many, all runs counted")
    return parser.parse_args()


def main():
    args = parse()
    training = Training(args)
    measured = forebay.DataLoader(
        args.validation or args.train, args.batch_size, transform=PLAIN,
        name="validation" if args.validation else "training images")
    title = "accuracy" if args.validation else "accuracy on the training images"
    while training.epoch < args.epochs:
        epoch, begin = training.epoch, time.monotonic()
        losses = training.run_epoch(args.max_steps)
        training.save()
        if training.epoch == epoch:  # max_steps ended it
            break
        seconds = time.monotonic() - begin
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}, "
              f"{title} {accuracy(training.model, measured):.3f}, "
              f"{len(losses) * args.batch_size / seconds:,.0f} images/s",
              flush=True)


if __name__ == "__main__":
    main()
