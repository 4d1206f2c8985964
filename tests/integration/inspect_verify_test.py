"""forebay.inspect with verify=True, and the command. Broken samples are listed, and no
others."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys

import numpy
import pytest

import forebay
import tfrecord_test
from remote_shards_test import tar_of
from trouble import FOREBAYCTL, spoil

PROGRAMS = [(FOREBAYCTL,), (sys.executable, "-m", "forebay")]

pytestmark = pytest.mark.usefixtures("shared_daemon")


@pytest.fixture
def copied(tmp_path, photos):
    """A copy of the photographs that a test may change."""
    return shutil.copytree(photos, tmp_path / "photos")


def broken(uri, **arguments):
    """Returns the samples that verification lists, and the number that it counts."""
    found = forebay.inspect(uri, verify=True, autostart=False, **arguments)
    return [failure.sample for failure in found.verification.failures], (
        found.verification.broken)


def damage(folder):
    """Makes three of the photographs unusable."""
    os.truncate(folder / "beach" / "007.jpg", 900)
    (folder / "city" / "000.jpg").write_text("no photograph")
    (folder / "forest" / "015.jpg").write_bytes(b"")


def test_images(copied):
    damage(copied)
    assert broken(copied) == ([7, 16, 47], 3)
    assert broken(copied, most_failures=1) == ([7], 3)
    assert broken(copied, most_failures=0) == ([], 3)
    said = str(forebay.inspect(copied, verify=True))
    assert "Verified: 3 of 48 samples are broken:" in said
    assert "beach/007.jpg: is a truncated" in said
    assert "and 2 more" in str(forebay.inspect(copied, verify=True, most_failures=1))


def test_a_sample_that_fits_in_no_memory(copied):
    os.truncate(copied / "city" / "000.jpg", 1 << 40)
    assert broken(copied) == ([16], 1)
    found = forebay.inspect(copied, verify=True).verification.failures[0]
    assert "city/000.jpg" in found.message and "no memory" in found.message
    assert forebay.inspect(copied).samples == 48


def test_a_look_tells_of_what_it_saw(copied):
    damage(copied)
    found = forebay.inspect(copied)
    assert found.verification is None
    assert any("3 samples of those" in warning for warning in found.warnings)


def test_records_with_wrong_checksums(tmp_path):
    path = tfrecord_test.write(tmp_path / "a.tfrecord",
                               [b"%05d" % number for number in range(2000)])
    for number in (3, 999, 1999):
        spoil(path, number * 21 + 14)
    assert broken(path) == ([3, 999, 1999], 3)


def test_members_of_shards(tmp_path, photos):
    good = (photos / "city" / "003.jpg").read_bytes()
    samples = []
    for number in range(40):
        image = good[:500] if number == 11 else good
        info = b"[1, 2" if number == 20 else b'{"a": 1}'
        text = b"caf\xe9" if number == 30 else b"caf\xc3\xa9"
        samples += [(f"{number:03}.{ending}", content) for ending, content in (
            ("jpg", image), ("json", info), ("txt", text))]
    (tmp_path / "a.tar").write_bytes(tar_of(samples))
    assert broken(tmp_path / "a.tar") == ([11, 20, 30], 3)


def test_labels_of_all_samples_are_counted(tmp_path):
    numpy.savez(tmp_path / "a.npz", x=numpy.zeros((3000, 2)))
    numpy.save(tmp_path / "y.npy", numpy.arange(3000, dtype="int64"))
    samples = [(f"{number:05}.cls", b"%d" % (number % 3)) for number in range(3000)]
    (tmp_path / "a.tar").write_bytes(tar_of(samples))
    field, = forebay.inspect(tmp_path / "a.tar", verify=True).fields
    assert [one["count"] for one in field["labels"]] == [1000, 1000, 1000]
    field, = forebay.inspect(tmp_path / "a.tar").fields
    assert sum(one["count"] for one in field["labels"]) == 512


def command(*arguments, program=(FOREBAYCTL,)):
    return subprocess.run(
        [*program, "inspect", *map(str, arguments)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=150,
        env=dict(os.environ, FOREBAY_PYTHON=sys.executable))


@pytest.mark.parametrize("program", PROGRAMS, ids=["forebayctl", "python"])
def test_command(copied, tmp_path, program):
    done = command(copied, "-o", tmp_path / "sheet.png", program=program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{copied}\n  class folders of images")
    assert (tmp_path / "sheet.png").read_bytes()[:4] == b"\x89PNG"
    assert command(copied, "--verify", program=program).returncode == 0
    damage(copied)
    done = command("--verify", "--show", 2, copied, program=program)
    assert done.returncode == 1
    assert "3 of 48 samples are broken" in done.stdout and "1 more" in done.stdout
    done = command(tmp_path / "nothing", program=program)
    assert done.returncode == 1 and done.stdout == ""
    name = "inspect" if len(program) > 1 else "forebayctl"
    assert done.stderr.startswith(f"{name}: {tmp_path}/nothing: does not exist")
    assert done.stderr.count("\n") == 1
    assert command(program=program).returncode == 2


def test_json(copied):
    damage(copied)
    done = command(copied, "--json", "--verify")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert list(found) == [
        "uri", "format", "title", "samples", "files", "bytes", "looked_at",
        "sample_bytes", "fields", "classes", "code", "alternatives", "warnings",
        "verification"]
    assert (found["uri"], found["format"], found["samples"], found["files"]) == (
        str(copied), "image_folder", 48, 48)
    assert [list(field) for field in found["fields"]] == [
        ["name", "kind", "dtype", "shape", "seen", "bytes", "images"],
        ["name", "kind", "dtype", "shape", "seen", "labels"]]
    assert found["verification"]["broken"] == 3
    assert [failure["sample"] for failure in found["verification"]["failures"]] == [
        7, 16, 47]


def test_a_python_without_the_package(copied):
    environment = dict(os.environ, FOREBAY_PYTHON=sys.executable)
    del environment["PYTHONPATH"]
    done = subprocess.run([FOREBAYCTL, "inspect", copied], stderr=subprocess.PIPE,
                          env=environment, text=True)
    assert done.returncode == 1 and "$FOREBAY_PYTHON" in done.stderr
    environment["FOREBAY_PYTHON"] = "/nothing/there"
    done = subprocess.run([FOREBAYCTL, "inspect", copied], stderr=subprocess.PIPE,
                          env=environment, text=True)
    assert done.returncode == 1 and "cannot be run" in done.stderr


def test_ctrl_c_ends_with_what_was_found(tmp_path):
    numpy.save(tmp_path / "many.npy", numpy.zeros((20_000_000, 1), "uint8"))
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "forebay", "inspect", "--verify",
         str(tmp_path / "many.npy")], stdout=subprocess.PIPE, stderr=end, text=True)
    os.close(end)
    shown = b""
    while b"samples, " not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=150)[0]
    os.close(terminal)
    assert b"of 20,000,000 samples" in shown and b" left" in shown
    assert process.returncode == 130
    assert "Interrupted: " in said and "0 are broken" in said
