"""Runs the documentation's code as it is written, on small files that have the names
used in it."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import types
from typing import Dict, NamedTuple

import fsspec
import numpy
import pandas
import PIL.Image
import pytest
import torch
import torchvision
from torchvision import transforms as torchvision_transforms

import documented_files
import forebay
import forebay.filesystem
import torch_layouts
from documented_files import SHARDS
from forebay import transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ["README.md", *sorted(
    f"client/{path.name}" for path in (ROOT / "client").glob("*.md"))]


class Case(NamedTuple):
    """How a block is run.

    Attributes:
      doc: the document that has the block.
      block: its number in the document.
      loaders: the loaders that the block opens; the test takes a batch from each.
      fills: code for the parts that the document leaves out.
      then: code that runs after the block and uses its definitions.
    """

    doc: str
    block: int
    loaders: int = 1
    fills: Dict[str, str] = {}
    then: str = ""


class Photos(torch.utils.data.Dataset):
    """A dataset of the user's code, with the name that the documents use."""

    def __len__(self):
        return 8

    def __getitem__(self, number):
        return numpy.zeros((3, 4, 4)), number


PHOTOS = {
    "def __len__(self): ...": "def __len__(self): return 8",
    "def __getitem__(self, number): ...":
        "def __getitem__(self, number): return numpy.zeros((3, 4, 4)), number"}
CROP = {"transform=...": "transform=torchvision.transforms.CenterCrop(32)"}
CASES = [
    Case("README.md", 0),
    Case("client/README.md", 0),
    Case("client/README.md", 3, fills=CROP),
    Case("client/README.md", 4, loaders=0, then=(
        "images, labels = next(iter(loader))\n"
        "assert images.shape == (49, 3, 224, 224) and len(labels) == 49")),
    Case("client/README.md", 5, loaders=0),
    Case("client/array_record.md", 0),
    Case("client/arrays.md", 0, then=(
        'forebay.DataLoader("/data/{000..127}.tar", fields=("jpg", "npy"), '
        "transform=transform)")),
    Case("client/audio.md", 0),
    Case("client/audio_ops.md", 0, then=(
        'forebay.DataLoader("/data/clips.tar", fields=("flac",), '
        "transform=transform)")),
    Case("client/compressed.md", 0, loaders=4),
    Case("client/compressed.md", 1, loaders=2),
    Case("client/datasets_in_python.md", 0, fills=PHOTOS),
    Case("client/datasets_in_python.md", 1),
    Case("client/datasets_in_python.md", 2),
    Case("client/hdf5.md", 0),
    Case("client/images.md", 0, loaders=2, fills={
        'fields={"tif"': 'of_shards={"tif"', 'fields={"image': 'of_records={"image'},
         then='forebay.DataLoader("/data/tiffs.tar", fields=of_shards, '
              'framework="numpy")\n'
              'forebay.DataLoader("/data/tiffs.tfrecord", fields=of_records, '
              'framework="numpy")'),
    Case("client/images.md", 1, fills={", ...": ""}, then=(
        'forebay.DataLoader("/data/train", transform=transform)')),
    Case("client/images.md", 2, fills={", ...": ""}, then=(
        'forebay.DataLoader("/data/train", transform=transform)')),
    Case("client/inspect.md", 0, loaders=0, then="assert found.samples == 49"),
    Case("client/lengths.md", 0, loaders=2),
    Case("client/lmdb.md", 0),
    Case("client/mds.md", 0),
    Case("client/reading_files.md", 0, loaders=0, fills={
        '"https://host/': '"/data/'}, then='assert file.closed'),
    Case("client/reading_files.md", 1, loaders=0),
    Case("client/sharing_iterables.md", 0, loaders=0, fills={
        "WebLoader(...)": "WebLoader()"}),
    Case("client/stores.md", 0, loaders=4),
    Case("client/tfrecord.md", 0),
    Case("client/tokens.md", 0),
    Case("client/torch_datasets.md", 0),
]
APART = [("client/moving_from_torch.md", 0)]  # run in processes of their own
# Blocks that no test runs, and why: (document, number of the block).
NOT_RUN = {
    ("client/README.md", 1): "torch with CUDA and a GPU",
    ("client/README.md", 2): "CuPy and a GPU",
}


def blocks_of(doc):
    """Returns the blocks of Python in a document."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```", (ROOT / doc).read_text(),
                       re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(code) for _, code in found]


@pytest.fixture
def data(photos, tmp_path, monkeypatch):
    """A folder with files that have the names used in the documents."""
    torch_layouts.use_fake_scipy(monkeypatch)
    torch_layouts.accept_all_files(monkeypatch)
    torch_layouts.flowers(tmp_path, sorted(photos.glob("*/*.jpg"))[:12])
    documented_files.write_all(tmp_path, photos)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def localized(code, data):
    """Returns the code with the paths of local files, of which there are fewer."""
    for place in ("/data", "gs://bucket", "s3://bucket", "hdfs://namenode/data"):
        code = code.replace(f'"{place}/', f'"{data}/').replace(f'"{place}"',
                                                               f'"{data}"')
    for place in ("forebay:///data/", "forebay://gs/bucket/"):
        code = code.replace(place, f"forebay://{data}/")
    code = code.replace("forebay::gs://bucket/", f"forebay::file://{data}/")
    last = SHARDS - 1
    return re.sub(r"\.\.(\d+)\}", lambda found: "..%0*d}" % (len(found[1]), last), code)


def names_of():
    """Returns the names that a script has imported or defined before a block."""
    return {
        "__name__": "documented", "forebay": forebay, "T": T, "torch": torch,
        "torchvision": torchvision, "numpy": numpy, "pandas": pandas, "fsspec": fsspec,
        "Image": PIL.Image, "DataLoader": forebay.DataLoader, "Photos": Photos,
        "webdataset": types.SimpleNamespace(WebLoader=lambda: [1, 2, 3]),
        **{name: getattr(torchvision_transforms, name) for name in (
            "Compose", "RandomResizedCrop", "ToTensor", "Normalize")},
        "ImageFolder": torchvision.datasets.ImageFolder,
        "mean": (0.5, 0.5, 0.5), "std": (0.2, 0.2, 0.2),
        "my_augment": lambda image: image}


def run(case, data, monkeypatch):
    """Runs a block on local files, and takes a batch from each loader in it."""
    opened = []

    def open_loader(*arguments, **options):
        opened.append(forebay_loader(*arguments, **options))
        return opened[-1]

    forebay_loader = forebay.DataLoader
    monkeypatch.setattr(forebay, "DataLoader", open_loader)
    code = blocks_of(case.doc)[case.block]
    for old, new in case.fills.items():
        assert old in code
        code = code.replace(old, new)
    code = localized(f"{code}\n{case.then}", data)
    exec(compile(code, f"{case.doc}, block {case.block}", "exec"), names_of())
    for loader in opened:
        with loader:
            next(iter(loader))
    return opened


@pytest.mark.parametrize("doc", DOCS)
def test_blocks_are_python(doc):
    for code in blocks_of(doc):
        compile(code, doc, "exec")


def test_every_block_is_run_or_listed():
    listed = [*((case.doc, case.block) for case in CASES), *APART, *NOT_RUN]
    assert sorted(listed) == sorted(
        (doc, block) for doc in DOCS for block in range(len(blocks_of(doc))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.doc}-{case.block}")
def test_examples_run(shared_daemon, data, monkeypatch, case):
    assert len(run(case, data, monkeypatch)) == case.loaders


def test_a_library_gets_the_loader(shared_daemon, data):
    (doc, block), = APART
    code = blocks_of(doc)[block] + (
        "assert isinstance(library.loader, forebay.DataLoader)\n"
        "assert len(list(library.loader)) == 3\n")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=data, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=120, env=dict(
            os.environ, PYTHONPATH=os.pathsep.join([str(data), *sys.path])))
    assert done.returncode == 0, done.stdout
