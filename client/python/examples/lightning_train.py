"""Trains the network of train.py with Lightning, in one process or in several.

    python lightning_train.py /data/train --epochs 20 --processes 2

Nothing is needed except Forebay's loader. Lightning sets the epochs and the ranks, and
its checkpoints hold the loader's position.
"""

import argparse

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn import functional as F
from train import AUGMENTED, network

import forebay


class Classifier(lightning.LightningModule):
    """The network, and the choice of the loader that it trains on."""

    def __init__(self, args):
        super().__init__()
        self.args = args
        torch.manual_seed(0)
        self.network = network(args.classes)
        self.losses = []

    def train_dataloader(self):
        return forebay.DataLoader(
            self.args.train, self.args.batch_size, shuffle=True, drop_last=True,
            transform=AUGMENTED, rank=self.trainer.global_rank,
            world_size=self.trainer.world_size)

    def training_step(self, batch, _):
        images, labels = batch
        loss = F.cross_entropy(self.network(images), labels)
        self.losses.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        if self.trainer.is_global_zero:
            print(f"epoch {self.current_epoch}: loss "
                  f"{sum(self.losses) / len(self.losses):.6f}", flush=True)
        self.losses = []

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a folder of class folders")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--checkpoints", metavar="FOLDER")
    parser.add_argument("--every", type=int, default=100,
                        help="steps between checkpoints")
    parser.add_argument("--resume", metavar="CHECKPOINT")
    return parser.parse_args()


def main():
    args = parse()
    callbacks = []
    if args.checkpoints:
        callbacks.append(ModelCheckpoint(
            args.checkpoints, "{step}", every_n_train_steps=args.every,
            save_top_k=-1))
    trainer = lightning.Trainer(
        max_epochs=args.epochs, accelerator="auto", devices=args.processes,
        strategy="ddp" if args.processes > 1 else "auto", callbacks=callbacks,
        enable_checkpointing=bool(callbacks), logger=False,
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Classifier(args), ckpt_path=args.resume)


if __name__ == "__main__":
    main()
