"""A stock training script uses Forebay after a change of one line."""

import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

from trouble import PATIENCE

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "moving"))

import moved  # noqa: E402

EPOCHS, SAMPLES, BATCH = 12, 48, 8


@pytest.fixture
def data(daemon, photos, tmp_path):
    """A folder laid out as the script needs it."""
    folder = tmp_path / "data"
    folder.mkdir()
    for split in ("train", "val"):
        (folder / split).symlink_to(photos)
    return folder


def start(script, data, **environment):
    return subprocess.Popen(
        [sys.executable, "-W", "error::RuntimeWarning", str(script), str(data),
         "--epochs", str(EPOCHS), "--batch-size", str(BATCH), "--workers", "1",
         "--image-size", "64", "--seed", "1", "--lr", "0.02"],
        env=dict(os.environ, OMP_NUM_THREADS="1", **environment),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)


def finish(process):
    said, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, complaints
    return said, complaints


def averages(said, name):
    return [float(value) for value in re.findall(
        name + r" +[\d.]+ \( *([\d.]+)\)", said)]


def test_it_trains_with_one_line_changed(data, tmp_path):
    script = moved.write(tmp_path)
    before, after = moved.STOCK.read_text(), script.read_text()
    assert [(one, other) for one, other in zip(before.splitlines(True),
                                               after.splitlines(True))
            if one != other] == [(moved.LINE, moved.CHANGED)]
    assert len(before.splitlines()) == len(after.splitlines())
    said, complaints = finish(start(script, data))
    assert complaints.count("unnecessary with Forebay") == 1
    losses = [float(loss) for loss in re.findall(
        rf"\[{SAMPLES // BATCH}/{SAMPLES // BATCH}\].*Loss +[\d.]+ "
        r"\( *([\d.]+)\)", said)]
    assert len(losses) == EPOCHS
    assert sum(losses[-4:]) / 4 < 0.7 * losses[0]
    assert averages(said, "Acc@1")[-1] > 60
    assert said.count(f"Test: [{SAMPLES}]") == EPOCHS


def test_it_trains_on_two_ranks(data, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = moved.write(tmp_path)
    ranks = [start(script, data, RANK=str(rank), WORLD_SIZE="2",
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
             for rank in range(2)]
    for said, _ in [finish(rank) for rank in ranks]:
        # Each process has half of the training data, and validates on all validation
        # data.
        assert said.count("[3/3]") == EPOCHS
        assert said.count(f"Test: [{SAMPLES}]") == EPOCHS
        assert averages(said, "Acc@1")[-1] > 60
