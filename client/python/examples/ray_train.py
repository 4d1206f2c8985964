"""Trains the network of train.py with Ray Train, in two workers.

    python ray_train.py /data/train --epochs 20 --workers 2

Each worker makes a loader with distributed=True. All workers on a machine share
its daemon.
"""

import argparse
import os
import tempfile

import ray.train
import torch
from ray.train.torch import TorchTrainer, prepare_model
from torch.nn import functional as F
from train import AUGMENTED, network

import forebay


def save(model, loader):
    """Makes a checkpoint: a folder that Ray keeps."""
    folder = tempfile.mkdtemp()
    torch.save({"model": model.state_dict(), "loader": loader.state_dict()},
               os.path.join(folder, "state.pt"))
    return ray.train.Checkpoint.from_directory(folder)


def network_for(loader):
    """Makes the network. This function does not use torch: if it did, Ray's pickling
    would confuse the name `classes` with torch.classes, and fail."""
    return network(len(loader.dataset.classes))


def train_loop_per_worker(config):
    loader = forebay.DataLoader(
        config["train"], config["batch_size"], shuffle=True, drop_last=True,
        transform=AUGMENTED, distributed=True)
    torch.manual_seed(0)
    model = network_for(loader)
    checkpoint = ray.train.get_checkpoint()
    if checkpoint:  # Ray has started the workers again
        with checkpoint.as_directory() as folder:
            saved = torch.load(os.path.join(folder, "state.pt"))
        model.load_state_dict(saved["model"])
        loader.load_state_dict(saved["loader"])
    model = prepare_model(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(loader.state_dict()["epoch"], config["epochs"]):
        losses, samples = [], []
        for batch in loader:
            loss = F.cross_entropy(model(batch.image), batch.label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            samples += batch.sample_ids.tolist()
        inner = getattr(model, "module", model)
        ray.train.report(
            {"epoch": epoch, "loss": sum(losses) / len(losses),
             "rank": loader.rank, "samples": samples},
            checkpoint=save(inner, loader) if loader.rank == 0 else None)
        if epoch == config["fail_after"] and not checkpoint:
            raise RuntimeError("as --fail-after asks")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a folder of class folders")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fail-after", type=int, default=-1, metavar="EPOCH",
                        help="to see that the workers go on")
    parser.add_argument("--storage", metavar="FOLDER")
    return parser.parse_args()


def main():
    args = parse()
    result = TorchTrainer(
        train_loop_per_worker,
        train_loop_config={"train": os.path.abspath(args.train),
                           "batch_size": args.batch_size, "epochs": args.epochs,
                           "fail_after": args.fail_after},
        scaling_config=ray.train.ScalingConfig(
            # Older versions of Ray give a CPU to the trainer itself, in addition to the
            # workers.
            num_workers=args.workers, resources_per_worker={"CPU": 0.5}),
        run_config=ray.train.RunConfig(
            storage_path=args.storage,
            failure_config=ray.train.FailureConfig(max_failures=1))).fit()
    for row in result.metrics_dataframe.itertuples():
        print(f"epoch {row.epoch}: loss {row.loss:.6f} on rank {row.rank}, "
              f"{len(set(row.samples))} images")


if __name__ == "__main__":
    main()
