"""Runs the documentation's commands as they are written, where this host can run
them."""

import os
import re
import subprocess
import sys

import pytest

import documented_files
import forebay
from daemons import FOREBAYD
from trouble import CROP, FOREBAYCTL, ROOT, ctl

DOCS = ["README.md", "deploy/README.md", "server/README.md", "tests/README.md", *sorted(
    f"client/{path.name}" for path in (ROOT / "client").glob("*.md"))]
PROGRAMS = r"(?:tools/\w+|bazel|pip|python3?|forebayctl|forebayd|systemctl|sudo)"
COMMAND = re.compile(rf"^((?:\w+=\S+ )*{PROGRAMS} .*?|{PROGRAMS})(?: +#.*)?$")
SHARED = "FOREBAY_SHARE_KEY=sweep-7 python train.py --lr 0.1"
SET = "forebayctl set job-2 --weight 0.5 --max-read 200MB/s --max-cpu 2"
INSPECT = "forebayctl inspect /data/train"
RUN = [INSPECT, SET, SHARED]
_BUILD = "it builds or tests the whole tree, as .ci/run does"
_SYSTEMD = "it needs root and a systemd: systemd_unit_test.py boots one"
_GPU = "it needs CUDA's toolkit"
_BENCH = "it measures an idle machine for minutes"
NOT_RUN = {
    "tools/demo": "it builds the tree, and installs packages as root",
    "tools/test": _BUILD,
    "tools/test tests/unit/server/sampler": _BUILD,
    "tools/test today": _BUILD,
    "tools/test --config=asan": _BUILD,
    "tools/test --config=ubsan": _BUILD,
    "tools/test --config=tsan": _BUILD,
    "FOREBAY_MUTANTS=400 FOREBAY_MUTANT_SEED=7 tools/test integration/mutants": _BUILD,
    "tools/check": _BUILD,
    "bazel build //...": _BUILD,
    "tools/bench floor torch --json out.json": _BENCH,
    "bazel build --config=cuda //...": _GPU,
    "bazel build --config=cuda //... && tools/test --config=cuda": _GPU,
    "bazel build --config=portable //deploy/wheel:dist": "wheel_test.py builds it",
    "pip install bazel-bin/deploy/wheel/dist/*.whl": "wheel_test.py installs it",
    "tools/install --prefix /usr/local": _SYSTEMD,
    "systemctl enable --now forebayd@alice": _SYSTEMD,
    "sudo -u alice forebayctl doctor": _SYSTEMD,
}


def commands_of(doc):
    """Returns the commands in a document's blocks, without their comments."""
    text = (ROOT / doc).read_text()
    shell = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    other = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in shell for line in block.splitlines()]
    lines += re.findall(r"^    (\S.*)$", other, re.MULTILINE)
    return [found[1].strip() for found in map(COMMAND.match, lines) if found]


def test_every_command_is_run_or_listed():
    found = {command for doc in DOCS for command in commands_of(doc)}
    assert found == {*RUN, *NOT_RUN}


@pytest.fixture
def shell(shared_daemon, photos, tmp_path):
    """A function that runs a command with its files and programs, and returns its
    output."""
    documented_files.write_all(tmp_path, photos)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, path in (("python", sys.executable), ("python3", sys.executable),
                       ("forebayctl", FOREBAYCTL), ("forebayd", FOREBAYD)):
        (programs / name).symlink_to(path)

    def run(command):
        done = subprocess.run(
            command.replace("/data/", f"{tmp_path}/"), shell=True, cwd=tmp_path,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            env=dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}"))
        assert done.returncode == 0, done.stdout
        return done.stdout
    return run


def test_inspect(shell, tmp_path):
    said = shell(INSPECT)
    assert said.startswith(f"{tmp_path}/train\n  class folders of images")
    page = (ROOT / "client" / "inspect.md").read_text()
    for line in ("  class folders of images, as torchvision's ImageFolder",
                 "  FIELD  KIND   TYPE   SHAPE",
                 "  image  image  uint8  height x width x 3", "To read it:",
                 "    import forebay", "    from forebay import transforms as T"):
        assert f"\n{line}\n" in said and f"\n    {line}\n" in page


def test_set(shell, shared_daemon, photos, monkeypatch):
    monkeypatch.setenv("FOREBAY_JOB", "job-2")
    crop = forebay.transforms.CenterCrop(CROP)
    with forebay.DataLoader(photos, batch_size=4, transform=crop) as loader:
        next(iter(loader))
        shell(SET)
        job, = ctl(shared_daemon, "jobs")["jobs"]
    assert (job["weight"], job["max_cpus"]) == (0.5, 2)
    assert job["max_read_bytes_per_second"] == 200e6


def test_a_sweep_shares_by_the_environment(shell):
    assert shell(SHARED).split()[-1] == str(3 * sum(range(8)))
