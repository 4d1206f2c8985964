"""Hosts whose GPUs are simulated (tests/device/fake_libcuda)."""

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
# The first lines of the code of trainers: one with torch, and one without.
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
    """Returns why there can be no such GPUs, or "" if there can be."""
    if os.path.exists(PLUGIN) and os.path.exists(FAKE):
        return ""
    return "the GPU plug-in is built only where CUDA's toolkit is"


class Host:
    """A host with GPUs, on which daemons and trainers run.

    Attributes:
      gpus: list of dicts, one for each GPU in the driver's script.
      log: pathlib.Path of a file to which each copy and kernel adds a line.
    """

    def __init__(self, folder, count=1, **says):
        """
        Args:
          folder: folder for the host's files.
          count: number of GPUs.
          says: further fields of the driver's script
            (tests/device/fake_libcuda/script.h).
        """
        self._folder = folder
        self.log = folder / "gpu.log"
        # A GPU's memory is found by its UUID, so each host needs its own UUIDs.
        suffix = hashlib.sha256(bytes(folder)).hexdigest()[:12]
        self.gpus = [{"uuid": f"{number:08x}-0000-0000-0000-{suffix}",
                      "name": f"Fake {number}"} for number in range(count)]
        self._says = {"gpus": self.gpus, "log": str(self.log), **says}

    def environment(self, name="gpus", **says):
        """Returns the variables by which a process finds the driver and the plug-in.

        Args:
          says: further fields of the script, for this process alone.
        """
        path = self._folder / f"{name}.json"
        path.write_text(json.dumps({**self._says, **says}))
        return {"LD_LIBRARY_PATH": str(pathlib.Path(FAKE).parent),
                "FOREBAY_FAKE_CUDA": str(path),
                "FOREBAY_CUDA_PLUGIN": PLUGIN}

    def copies(self):
        """Returns how many copies to each GPU were made, by the GPU's UUID."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return collections.Counter(uuid for _, what, uuid, _ in map(
            str.split, lines) if what == "copy")

    def free_bytes(self, ordinal=0):
        """Returns the bytes of a GPU's memory that no process has."""
        env = dict(os.environ, **self.environment("looker"),
                   PYTHONPATH=str(ROOT / "tests" / "device"))
        return int(subprocess.run(
            [sys.executable, "-c", "import cuda_driver\n"
             f"print(cuda_driver.free_bytes({ordinal}))"], env=env,
            check=True, stdout=subprocess.PIPE).stdout)

    @contextlib.contextmanager
    def serving(self, *arguments, config="", **says):
        """Runs a daemon.

        Args:
          config: the end of the configuration, after some lines of its table [cuda].
          says: further fields of the script, for the daemon alone.
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
          says: further fields of the script, for this trainer alone.
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
        """Runs a trainer to its end, and returns its last line, parsed.

        Args:
          how: further arguments of `start`.
        """
        return result_of(self.start(code, *arguments, **how))


def result_of(trainer, line=None):
    """Waits for a trainer's successful end, and returns its last line, parsed.

    Args:
      line: bytes to send to the trainer first, if any.
    """
    out, error = trainer.communicate(line, timeout=300)
    assert trainer.returncode == 0, error.decode()
    return json.loads(out.decode().splitlines()[-1])


# Opens a loader, starts an epoch and reads it. All but the first step wait for a line
# of input. Prints a digest of each batch's bytes, and how many samples were decoded for
# the epoch.
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
    """Waits until trainers that run READ have printed a line, and lets them go on."""
    for trainer in trainers:
        said = trainer.stdout.readline().decode()
        assert said == line + "\n", trainer.stderr.read().decode()
    for trainer in trainers:
        trainer.stdin.write(b"\n")
        trainer.stdin.flush()


def read_together(trainers):
    """Lets trainers that run READ read at the same time, and returns their output."""
    step(trainers, "open")
    step(trainers, "begun")
    return [result_of(trainer) for trainer in trainers]
