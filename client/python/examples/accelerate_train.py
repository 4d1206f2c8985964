"""Trains the network of train.py with Hugging Face Accelerate.

    python accelerate_train.py /data/train --epochs 20
    torchrun --nproc_per_node 2 accelerate_train.py /data/train

`accelerator.save_state` keeps the loader's position, too.
"""

import argparse

import accelerate
import torch
from torch.nn import functional as F
from train import AUGMENTED, network

import forebay
from forebay.accelerate import prepare


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a folder of class folders")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--accumulate", type=int, default=1, metavar="BATCHES")
    parser.add_argument("--save", metavar="FOLDER")
    parser.add_argument("--save-after", type=int, default=-1, metavar="BATCHES",
                        help="then save, and end")
    parser.add_argument("--resume", metavar="FOLDER")
    return parser.parse_args()


def train(accelerator, args):
    loader = forebay.DataLoader(
        args.train, args.batch_size, shuffle=True, drop_last=True,
        transform=AUGMENTED, rank=accelerator.process_index,
        world_size=accelerator.num_processes)
    torch.manual_seed(0)
    model = network(len(loader.dataset.classes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, loader = prepare(accelerator, model, optimizer, loader)
    if args.resume:
        accelerator.load_state(args.resume)
    batches = 0
    for epoch in range(loader.state_dict()["epoch"], args.epochs):
        losses, steps = [], 0
        for images, labels in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(images), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
            steps += accelerator.sync_gradients
            batches += 1
            if batches == args.save_after:
                accelerator.save_state(args.save)
                return
        accelerator.print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}, "
                          f"{steps} steps")


def main():
    args = parse()
    accelerator = accelerate.Accelerator(
        gradient_accumulation_steps=args.accumulate)
    train(accelerator, args)
    # Without this call, torch's threads may outlive the interpreter, and abort the
    # process.
    accelerator.end_training()


if __name__ == "__main__":
    main()
