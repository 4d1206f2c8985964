"""The packed wheel, daemons that run from it, and trainers."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


class Host:
    """Attributes:
      pack: pathlib.Path, the folder of tests/device/pack.
      photos: pathlib.Path, a folder of class folders.
    """

    def __init__(self, pack):
        self.pack = pathlib.Path(pack)
        self.photos = self.pack / "photos"
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="forebay-device-"))
        self._site = self._folder / "site"
        (wheel,) = self.pack.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self._site)
        for name in ("forebayd", "forebayctl"):
            (self._site / "forebay" / "programs" / name).chmod(0o755)

    @contextlib.contextmanager
    def daemon(self, config=""):
        """Runs a daemon, and yields its runtime directory."""
        run = pathlib.Path(tempfile.mkdtemp(dir=self._folder))
        (run / "forebayd.toml").write_text(config)
        with open(run / "log", "wb") as log:
            process = subprocess.Popen(
                [self._site / "forebay/programs/forebayd", "--runtime-dir", run,
                 "--config", run / "forebayd.toml"], stdout=log, stderr=log)
        try:
            end = time.monotonic() + 60
            while not (run / "session.sock").exists():
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((run / "log").read_text())
                time.sleep(0.05)
            yield run
        finally:
            process.terminate()
            process.wait(timeout=60)

    def environment(self, run):
        path = os.pathsep.join((str(self._site), os.environ.get("PYTHONPATH", "")))
        kept = {name: value for name, value in os.environ.items()
                if name not in ("FOREBAY_LIBRARY", "FOREBAY_CUDA_PLUGIN")}
        return dict(kept, PYTHONPATH=path,
                    FOREBAY_RUNTIME_DIR=str(run), PYTHONDONTWRITEBYTECODE="1")

    def start(self, run, name, **arguments):
        """Starts a function of trainers.py in a process. Returns the
        subprocess.Popen."""
        return subprocess.Popen(
            [sys.executable, HERE / "trainers.py", name,
             json.dumps({"uri": str(self.photos), **arguments})],
            env=self.environment(run), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def call(self, run, name, **arguments):
        """Runs a function of trainers.py in a process, and returns its result."""
        return result_of(self.start(run, name, **arguments))

    def status(self, run):
        """Returns the daemon's state, as forebayctl reports it."""
        said = subprocess.run(
            [self._site / "forebay/programs/forebayctl", "--runtime-dir", run,
             "--json", "status"], check=True, stdout=subprocess.PIPE)
        return json.loads(said.stdout)


def result_of(trainer):
    out, _ = trainer.communicate(timeout=300)
    if trainer.returncode != 0:
        raise RuntimeError(f"a trainer left with {trainer.returncode}")
    return json.loads(out.decode().splitlines()[-1])


def used_mebibytes():
    """Returns the used memory of the first GPU, as nvidia-smi reports it."""
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
        check=True, stdout=subprocess.PIPE)
    return int(said.stdout.split()[0])
