"""A trainer that ends while it has iterators prints nothing."""

import os
import subprocess
import sys

import pytest

from daemons import ROOT

SCRIPT = """
import sys
import forebay
import torch
from torchvision import transforms as V

class Squares(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return index ** 2
    def __len__(self):
        return 1000

class Words(Squares):
    def __getitem__(self, index):
        return "x" * index

class Counting(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(1000))

def same(image):
    return image

def code(root):
    return forebay.DataLoader(root, 4, num_workers=1, transform=V.Compose([
        V.CenterCrop(16), same, V.ToTensor()]))

LOADERS = {
    "native": lambda root: forebay.DataLoader(
        root, 4, transform=forebay.transforms.CenterCrop(16)),
    "code": code,
    "rows": lambda root: forebay.DataLoader(Squares(), 4, num_workers=1),
    "batches": lambda root: forebay.DataLoader(Words(), 4, num_workers=1),
    "fed": lambda root: forebay.DataLoader(
        Words(), 4, num_workers=1, sampler=iter(range(1000))),
    "iterable": lambda root: forebay.DataLoader(Counting(), 4, num_workers=1),
    "inline": lambda root: forebay.DataLoader(Squares(), 4, num_workers=0),
    "persistent": lambda root: forebay.DataLoader(
        Squares(), 4, num_workers=1, persistent_workers=True),
}
loader = LOADERS[sys.argv[1]](sys.argv[2])
keeps = sys.argv[3]
iterator = iter(loader)
batch = next(iterator)
if keeps == "two iterators":
    other = iter(loader)
    next(iterator), next(other)
if keeps == "an iterator in a module":
    sys._kept = iterator  # goes after all modules
    del loader
"""


KINDS = ["native", "code", "rows", "batches", "fed", "iterable", "inline", "persistent"]
CASES = [(kind, keeps) for kind in KINDS
         for keeps in ("two iterators", "an iterator in a module")
         # Persistent workers can serve only one iterator.
         if (kind, keeps) != ("persistent", "two iterators")]


@pytest.mark.parametrize("kind,keeps", CASES)
def test_an_iterator_that_is_alive_at_exit_says_nothing(shared_daemon, photos, kind,
                                                        keeps):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, kind, str(photos), keeps],
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "python")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
