"""The examples do what they say."""

import os
import re
import shutil
import signal
import subprocess
import sys

from daemons import ROOT
from trouble import PATIENCE

EXAMPLE = os.environ.get("FOREBAY_EXAMPLE",
                         str(ROOT / "bazel-bin/client/cpp/example"))
TRAIN = ROOT / "client" / "python" / "examples" / "train.py"
EPOCH = re.compile(r"epoch (\d+): 48 images, mean (0\.\d+), [\d,]+ images/s; "
                   r"beach 16 city 16 forest 16")


def read(photos, epochs, meanwhile=lambda line: None):
    """Runs the C++ example. Returns the means that the example prints for each
    epoch."""
    means = []
    with subprocess.Popen([EXAMPLE, str(photos), str(epochs)],
                          stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found = EPOCH.match(line)
            if found is None:
                assert "MB delivered" in line
                continue
            assert int(found.group(1)) == len(means)
            means.append(found.group(2))
            meanwhile(len(means))
    assert process.returncode == 0
    return means


def test_cpp(daemon, photos):
    """For a program that uses only the library, a killed daemon is just a pause."""
    expected = read(photos, 40)
    assert len(set(expected)) == 40

    def kill(epochs):
        if epochs % 4 == 1:
            daemon.stop(signal.SIGKILL)
            daemon.start()

    assert read(photos, 40, kill) == expected


def test_cpp_says_what_is_wrong(daemon, tmp_path):
    done = subprocess.run([EXAMPLE, str(tmp_path / "nowhere")],
                          stderr=subprocess.PIPE, timeout=PATIENCE)
    assert done.returncode == 1
    assert b"nowhere" in done.stderr


def run_train(*arguments):
    """Runs the training example. Returns what it prints."""
    done = subprocess.run(
        [sys.executable, str(TRAIN), "--batch-size=12", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
        env=dict(os.environ, OMP_NUM_THREADS="1"))
    said = done.stdout.decode()
    assert done.returncode == 0, said
    return said


def train(folder, *arguments):
    """Runs the training example. Returns loss and accuracy of each epoch."""
    said = run_train(folder / "train", "--validation", folder / "val", *arguments)
    return re.findall(r"epoch \d+: loss (\S+), accuracy (\S+),", said)


def test_training_says_that_it_measures_on_the_training_images(daemon, photos):
    said = run_train(photos, "--epochs=1")
    assert re.search(r"loss \S+, accuracy on the training images [01]\.\d+,", said)


def test_training_learns_and_resumes(daemon, photos, tmp_path):
    for path in photos.rglob("*.jpg"):
        part = "val" if int(path.stem) % 4 == 0 else "train"
        where = tmp_path / part / path.parent.name
        where.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, where)
    whole = train(tmp_path, "--epochs=16")
    assert len(whole) == 16
    assert float(whole[-1][0]) < float(whole[0][0])
    # A random guess would be right in a third of the cases.
    assert max(float(right) for _, right in whole[-4:]) > 0.65

    # The run stops in mid-epoch, because an epoch has three steps.
    state = str(tmp_path / "state")
    begun = train(tmp_path, "--epochs=4", "--max-steps=5",
                  f"--checkpoint={state}")
    rest = train(tmp_path, "--epochs=4", f"--checkpoint={state}")
    assert begun == whole[:1]
    # For the interrupted epoch, the figures of its second part alone are printed.
    assert [right for _, right in begun + rest] == [
        right for _, right in whole[:4]]
    assert rest[1:] == whole[2:4]
