"""Code of the documentation, run as it is written, on small files of the names that
it has."""

import pathlib
import re
import shutil
import textwrap

import pytest
import torch

import forebay
from forebay import transforms as T
from shards_test import npy, write_python_tar

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
DOCS = ["README.md", *sorted(
    f"client/{path.name}" for path in (ROOT / "client").glob("*.md"))]


def blocks_of(doc):
    """The blocks of Python in a document."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```", (ROOT / doc).read_text(),
                       re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(code) for _, code in found]


@pytest.fixture
def data(photos, tmp_path):
    """A folder with what the documents call by the same names."""
    shutil.copytree(photos, tmp_path / "train")
    shutil.copytree(GOLDEN / "mds" / "mixed", tmp_path / "mds")
    images = [path.read_bytes() for path in sorted(photos.glob("*/*"))]
    members = [("0.jpg", images[0]), ("0.cls", b"0"), ("0.npy", npy((2, 3), "<f4")),
               ("1.jpg", images[1]), ("1.cls", b"1"), ("1.npy", npy((2, 3), "<f4"))]
    for number in range(2):
        path = tmp_path / f"{number:03}.tar"
        write_python_tar(path, members)
        for name in (f"{number:05}.tar.gz", f"{number:05}.tar.zst",
                     f"train-{number:05}.tgz"):
            shutil.copy(path, tmp_path / name)
    for name in ("train-0.tfrecord", "train-00000-of-01024"):
        shutil.copy(GOLDEN / "tfrecord" / "examples-00000-of-00002.tfrecord",
                    tmp_path / name)
    torch.save(torch.zeros(2), tmp_path / "model.pt")
    return tmp_path


def run(code, data, monkeypatch):
    """Runs a block on local files, and draws a batch of each loader in it."""
    for place in ("/data", "gs://bucket", "s3://bucket", "hdfs://namenode/data"):
        code = code.replace(f'"{place}/', f'"{data}/')
    code = code.replace("..00127}", "..00001}").replace("..127}", "..001}")
    opened = []

    def open_loader(*arguments, **options):
        opened.append(forebay_loader(*arguments, **options))
        return opened[-1]

    forebay_loader = forebay.DataLoader
    monkeypatch.setattr(forebay, "DataLoader", open_loader)
    names = {"forebay": forebay, "T": T, "torch": torch}
    exec(compile(code, "block", "exec"), names)
    for loader in opened:
        with loader:
            next(iter(loader))
    return names, opened


@pytest.mark.parametrize("doc", DOCS)
def test_blocks_are_python(doc):
    for code in blocks_of(doc):
        compile(code, doc, "exec")


@pytest.mark.parametrize("doc, block, loaders", [
    ("README.md", 0, 1), ("client/README.md", 0, 1), ("client/mds.md", 0, 1),
    ("client/compressed.md", 0, 4), ("client/stores.md", 0, 4)])
def test_examples_run(shared_daemon, data, monkeypatch, doc, block, loaders):
    opened = run(blocks_of(doc)[block], data, monkeypatch)[1]
    assert len(opened) == loaders


def test_a_dataset_runs_in_torch(shared_daemon, data, monkeypatch):
    code, = (code for code in blocks_of("client/README.md")
             if "forebay.Dataset(" in code)
    loader = run(code.replace("num_workers=4", "num_workers=0"), data,
                 monkeypatch)[0]["loader"]
    images, labels = next(iter(loader))
    assert images.shape[1:] == (3, 224, 224) and len(labels) == len(images)
