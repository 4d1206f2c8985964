"""Trains an image classifier on a folder of folders, ImageNet's way.

    python imagenet.py /data/imagenet --workers 8
    torchrun --nproc_per_node 8 imagenet.py /data/imagenet

Expects DIR/train/CLASS/*.jpg and DIR/val/CLASS/*.jpg.
"""

import argparse
import os
import random
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision.datasets as datasets
import torchvision.models as models
import torchvision.transforms as transforms
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser(description="PyTorch ImageNet training")
parser.add_argument("data", metavar="DIR", help="path to dataset")
parser.add_argument("-a", "--arch", default="small",
                    help="a model of torchvision's, or small")
parser.add_argument("-j", "--workers", default=4, type=int)
parser.add_argument("--epochs", default=90, type=int)
parser.add_argument("-b", "--batch-size", default=256, type=int)
parser.add_argument("--lr", default=0.1, type=float)
parser.add_argument("--momentum", default=0.9, type=float)
parser.add_argument("--weight-decay", default=1e-4, type=float)
parser.add_argument("-p", "--print-freq", default=10, type=int)
parser.add_argument("--image-size", default=224, type=int)
parser.add_argument("--seed", default=None, type=int)


class AverageMeter:
    """Stores the current value and the average of something."""

    def __init__(self, name, fmt=":6.3f"):
        self.name = name
        self.fmt = fmt
        self.val = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    def __str__(self):
        text = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return text.format(name=self.name, val=self.val,
                           avg=self.sum / max(self.count, 1))


class SmallNet(nn.Sequential):
    """A network of a few convolutions, which learns something on a CPU."""

    def __init__(self, classes):
        super().__init__(
            nn.Conv2d(3, 16, 8, stride=8), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, classes))


def main():
    args = parser.parse_args()
    if args.seed is not None:
        random.seed(args.seed)
        torch.manual_seed(args.seed)
    args.distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    if args.distributed:
        dist.init_process_group(
            "nccl" if torch.cuda.is_available() else "gloo")

    normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406],
                                     std=[0.229, 0.224, 0.225])
    train_dataset = datasets.ImageFolder(
        os.path.join(args.data, "train"),
        transforms.Compose([
            transforms.RandomResizedCrop(args.image_size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            normalize,
        ]))
    val_dataset = datasets.ImageFolder(
        os.path.join(args.data, "val"),
        transforms.Compose([
            transforms.Resize(args.image_size * 8 // 7),
            transforms.CenterCrop(args.image_size),
            transforms.ToTensor(),
            normalize,
        ]))
    train_sampler = DistributedSampler(train_dataset) if args.distributed else None
    train_loader = DataLoader(
        train_dataset, batch_size=args.batch_size, shuffle=(train_sampler is None),
        num_workers=args.workers, pin_memory=True,
        sampler=train_sampler)
    val_loader = DataLoader(
        val_dataset, batch_size=args.batch_size, shuffle=False,
        num_workers=args.workers, pin_memory=True)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    classes = len(train_dataset.classes)
    model = (SmallNet(classes) if args.arch == "small" else
             getattr(models, args.arch)(num_classes=classes)).to(device)
    if args.distributed:
        model = nn.parallel.DistributedDataParallel(model)
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), args.lr,
                                momentum=args.momentum,
                                weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30)

    for epoch in range(args.epochs):
        if args.distributed:
            train_sampler.set_epoch(epoch)
        train(train_loader, model, criterion, optimizer, epoch, device, args)
        validate(val_loader, model, criterion, device)
        scheduler.step()


def train(train_loader, model, criterion, optimizer, epoch, device, args):
    batch_time = AverageMeter("Time")
    data_time = AverageMeter("Data", ":9.6f")
    losses = AverageMeter("Loss")
    model.train()
    end = time.time()
    for i, (images, target) in enumerate(train_loader):
        data_time.update(time.time() - end)
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch_time.update(time.time() - end)
        end = time.time()
        if (i + 1) % args.print_freq == 0 or i + 1 == len(train_loader):
            print(f"Epoch: [{epoch}][{i + 1}/{len(train_loader)}]",
                  batch_time, data_time, losses, sep="\t", flush=True)


def validate(val_loader, model, criterion, device):
    losses, top1 = AverageMeter("Loss"), AverageMeter("Acc@1")
    model.eval()
    with torch.no_grad():
        for images, target in val_loader:
            images, target = images.to(device), target.to(device)
            output = model(images)
            losses.update(criterion(output, target).item(), images.size(0))
            correct = (output.argmax(1) == target).float().mean().item()
            top1.update(100 * correct, images.size(0))
    print(f"Test: [{len(val_loader.dataset)}]", losses, top1, sep="\t", flush=True)


if __name__ == "__main__":
    main()
