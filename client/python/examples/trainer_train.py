"""Trains the network of train.py with Hugging Face's Trainer.

    python trainer_train.py /data/train --validation /data/val --output /tmp/run
    torchrun --nproc_per_node 2 trainer_train.py /data/train --output /tmp/run

The dataset is torchvision's. Equal runs on one machine share the work: each sample is
made once for all of them.
"""

import argparse

import torch
import transformers
from torch import nn
from torch.nn import functional as F
from torchvision import datasets
from torchvision import transforms as T
from train import MEAN, SIZE, STD, network

from forebay.huggingface import Trainer


class Classifier(nn.Module):
    """The network, with the arguments and results that the Trainer expects."""

    def __init__(self, classes):
        super().__init__()
        torch.manual_seed(0)
        self.network = network(classes)

    def forward(self, pixel_values, labels):
        logits = self.network(pixel_values)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


AUGMENTED = (T.RandomResizedCrop(SIZE, scale=(0.3, 1.0)), T.RandomHorizontalFlip())
PLAIN = (T.Resize(SIZE), T.CenterCrop(SIZE))


class Photos(datasets.ImageFolder):
    """A folder of class folders. Its samples are dicts whose keys are the names of
    forward's arguments."""

    def __init__(self, folder, crop=AUGMENTED):
        super().__init__(folder, T.Compose([
            *crop, T.ToTensor(), T.Normalize(MEAN, STD)]))

    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return {"pixel_values": image, "labels": label}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a folder of class folders")
    parser.add_argument("--output", required=True, metavar="FOLDER")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--save-steps", type=int, default=100)
    parser.add_argument("--validation", metavar="FOLDER",
                        help="class folders of other images, to evaluate on")
    parser.add_argument("--resume", metavar="CHECKPOINT")
    return parser.parse_args()


def main():
    args = parse()
    photos = Photos(args.train)
    validation = Photos(args.validation, PLAIN) if args.validation else None
    trainer = Trainer(
        Classifier(len(photos.classes)),
        transformers.TrainingArguments(
            args.output, per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.batch_size,
            num_train_epochs=args.epochs, learning_rate=2e-3,
            save_steps=args.save_steps, logging_strategy="epoch",
            remove_unused_columns=False, report_to=[], disable_tqdm=True),
        train_dataset=photos, eval_dataset=validation,
        compute_metrics=lambda given: {"accuracy": float(
            (given.predictions.argmax(1) == given.label_ids).mean())})
    trainer.train(resume_from_checkpoint=args.resume)
    if validation is not None:
        print(trainer.evaluate())
    # Without this call, torch's threads may outlive the interpreter, and abort the
    # process.
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main()
