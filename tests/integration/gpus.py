"""Hosts whose GPUs are none (tests/device/fake_libcuda)."""

import collections
import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

from daemons import ROOT, serving

PLUGIN = os.environ.get("FOREBAY_CUDA_PLUGIN", "")
FAKE = os.environ.get("FOREBAY_FAKE_LIBCUDA", "")
# The beginning of the code of a trainer with torch, and of one without.
TORCH = """
import json, sys, torch, torch_stand_in
torch_stand_in.install()
import forebay
from forebay import transforms as T
"""
DLPACK = """
import json, sys, numpy, cuda_driver
from dlpack_stand_in import from_dlpack
import forebay
from forebay import transforms as T
"""


def missing():
    """Why there are none; "" if there are."""
    if os.path.exists(PLUGIN) and os.path.exists(FAKE):
        return ""
    return "the GPU plug-in is built only where CUDA's toolkit is"


class Host:
    """A host with GPUs: daemons and trainers that run on it.

    Attributes:
      gpus: list of dicts, what the driver's script says of each.
      log: pathlib.Path, where each copy and each kernel adds a line.
    """

    def __init__(self, folder, count=1, **says):
        """
        Args:
          folder: of files.
          count: GPUs.
          says: more of the driver's script (tests/device/fake_libcuda/script.h).
        """
        self._folder = folder
        self.log = folder / "gpu.log"
        # The memory of a GPU is found by its UUID: each host has its own.
        suffix = hashlib.sha256(bytes(folder)).hexdigest()[:12]
        self.gpus = [{"uuid": f"{number:08x}-0000-0000-0000-{suffix}",
                      "name": f"Fake {number}"} for number in range(count)]
        self._says = {"gpus": self.gpus, "log": str(self.log), **says}

    def environment(self, name="gpus", **says):
        """The variables by which a process finds the driver and the plug-in.

        Args:
          says: more of the script, for this process alone.
        """
        path = self._folder / f"{name}.json"
        path.write_text(json.dumps({**self._says, **says}))
        return {"LD_LIBRARY_PATH": str(pathlib.Path(FAKE).parent),
                "FOREBAY_FAKE_CUDA": str(path),
                "FOREBAY_CUDA_PLUGIN": PLUGIN}

    def copies(self):
        """How many copies to each GPU there were, by its UUID."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return collections.Counter(uuid for _, what, uuid, _ in map(
            str.split, lines) if what == "copy")

    def free_bytes(self, ordinal=0):
        """The memory of a GPU that no process has."""
        env = dict(os.environ, **self.environment("looker"),
                   PYTHONPATH=str(ROOT / "tests" / "device"))
        return int(subprocess.run(
            [sys.executable, "-c", "import cuda_driver\n"
             f"print(cuda_driver.free_bytes({ordinal}))"], env=env,
            check=True, stdout=subprocess.PIPE).stdout)

    @contextlib.contextmanager
    def serving(self, *arguments, config="", **says):
        """A running daemon.

        Args:
          config: what follows in the table [cuda] of its configuration.
          says: more of the script, for the daemon alone.
        """
        path = self._folder / "forebayd.toml"
        path.write_text(f'[cuda]\nplugin = "{PLUGIN}"\n{config}\n')
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment("daemon", **says).items():
                patch.setenv(name, value)
            with serving(self._folder, "--config", str(path),
                         *arguments) as started:
                yield started

    def start(self, code, *arguments, imports=TORCH, **says):
        """Starts a trainer that runs `code`, which prints JSON.

        Args:
          arguments: the code's sys.argv[1:].
          imports: TORCH or DLPACK.
          says: more of the script, for this trainer alone.
        """
        name = f"trainer{len(list(self._folder.glob('trainer*')))}"
        env = dict(os.environ, **self.environment(name, **says),
                   PYTHONPATH=os.pathsep.join((str(ROOT / "tests" / "device"),
                                               os.environ["PYTHONPATH"])))
        return subprocess.Popen(
            [sys.executable, "-c", imports + code, *map(str, arguments)],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def run(self, code, *arguments, **how):
        """Runs a trainer to its end; returns its last line, parsed.

        Args:
          how: as for start.
        """
        return result_of(self.start(code, *arguments, **how))


def result_of(trainer, line=None):
    """The last line that a trainer printed, parsed, once it has ended well.

    Args:
      line: bytes that it waits for, if any.
    """
    out, error = trainer.communicate(line, timeout=300)
    assert trainer.returncode == 0, error.decode()
    return json.loads(out.decode().splitlines()[-1])


# Opens a loader, starts an epoch and reads it, each after a line but the first.
# Prints a digest of each
# batch's bytes, and how many samples were decoded for it.
READ = """
import hashlib
uri, device = sys.argv[1:]
loader = forebay.DataLoader(
    uri, batch_size=7, shuffle=True, seed=3, device=device, sharing="lockstep",
    transform=T.Compose([T.RandomResizedCrop(32), T.ToDtype("float16", scale=True)]))
print("open", flush=True)
sys.stdin.readline()
batches = iter(loader)
print("begun", flush=True)
sys.stdin.readline()
digests = []
for batch in batches:
    seen = hashlib.sha256(batch.image.cpu().numpy().tobytes())
    seen.update(batch.label.cpu().numpy().tobytes())
    digests.append([batch.sample_ids.tolist(), seen.hexdigest()])
print(json.dumps([digests, loader.stats()["samples_decoded"]]))
"""
SAMPLES, BATCHES = 48, 7


def step(trainers, line):
    """Waits until trainers that run READ have printed a line; lets them go on."""
    for trainer in trainers:
        said = trainer.stdout.readline().decode()
        assert said == line + "\n", trainer.stderr.read().decode()
    for trainer in trainers:
        trainer.stdin.write(b"\n")
        trainer.stdin.flush()


def read_together(trainers):
    """The output of trainers that run READ, all from the same moment on."""
    step(trainers, "open")
    step(trainers, "begun")
    return [result_of(trainer) for trainer in trainers]
