"""The loaders that are measured, each in the best form that its documentation shows."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import ports
from daemon import ENCODED_ONLY, ROOT, daemon
from figures import CORES
from peers import environment

FOLDER = pathlib.Path(__file__).resolve().parent
CONVERTED = ROOT / ".cache" / "peers-data"
DEBIAN = "/usr/bin/python3"


@dataclasses.dataclass(frozen=True)
class Form:
    """A loader in one form.

    Attributes:
      name: as the tables show it.
      kind: the loader is in loader_KIND.py.
      packages: the packages whose versions are printed.
      convert: the form of the loader's own file, which convert_KIND.py writes first;
        "": there is one form only; None: the loader reads the photographs.
      serve: the program that makes batches for all jobs; None: each job makes its own.
      daemon: text of forebayd's configuration; None: the loader is not Forebay's.
      own_seeds: whether jobs have different seeds, so that they cannot share batches.
    """
    name: str
    kind: str
    packages: tuple = ()
    convert: str = None
    serve: str = None
    daemon: str = None
    own_seeds: bool = True


FOREBAY = Form("Forebay", "forebay", daemon="", own_seeds=False)
OURS = (
    FOREBAY,
    Form("Forebay, `cache.decoded` off", "forebay", daemon=ENCODED_ONLY,
         own_seeds=False),
    Form("Forebay, a seed for each job", "forebay", daemon=""))
PEERS = (
    Form("DALI, CPU", "dali", ("nvidia-dali-cuda120",)),
    Form("FFCV, JPEG", "ffcv", ("ffcv", "numba"), "jpg"),
    Form("FFCV, half of them raw", "ffcv", ("ffcv", "numba"), "proportion"),
    Form("FFCV, raw", "ffcv", ("ffcv", "numba"), "raw"),
    Form("tf.data", "tfdata", ("tensorflow-cpu",)),
    Form("tf.data service, shared", "tfdata", ("tensorflow-cpu",),
         serve="serve_tfdata.py"),
    Form("litdata", "litdata", ("litdata", "torch"), ""),
    Form("SPDL", "spdl", ("spdl",)),
    Form("TensorSocket", "tensorsocket", ("tensorsocket", "torch"),
         serve="serve_tensorsocket.py"),
    Form("torch `DataLoader`", "torch", ("torch", "torchvision")))


@dataclasses.dataclass(frozen=True)
class Conversion:
    """The file that a loader reads: its path, its size, and the cost of making it."""
    path: pathlib.Path
    seconds: float
    bytes: int


def convert(form, uri):
    """Writes the photographs as the form needs them. Returns a Conversion, or None if
    the form reads the photographs as they are."""
    if form.convert is None:
        return None
    CONVERTED.mkdir(parents=True, exist_ok=True)
    target = CONVERTED / "-".join(
        filter(None, (pathlib.Path(uri).name, form.kind, form.convert)))
    if target.is_dir():
        shutil.rmtree(target)
    begin = time.monotonic()
    done = subprocess.run(
        [str(environment.PYTHON), str(FOLDER / f"convert_{form.kind}.py"),
         json.dumps({"uri": uri, "target": str(target), "form": form.convert,
                     "threads": CORES})],
        env=environment.variables(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    if done.returncode != 0:
        raise RuntimeError(_last_lines(done.stdout))
    seconds = time.monotonic() - begin
    files = [target] if target.is_file() else target.iterdir()
    return Conversion(target, seconds, sum(file.stat().st_size for file in files))


def _last_lines(said):
    lines = said.decode(errors="replace").strip().splitlines()
    return " ".join(lines[-1:])


@contextlib.contextmanager
def served(form, uri, batch_size):
    """Runs the program that serves all jobs of a form, if the form has one.

    Yields:
      (environment of the trainers, options of their loaders, sessions).
    """
    if form.daemon is not None:
        with daemon(form.daemon) as server:
            variables = server.environment
            variables["PYTHONPATH"] += f":{FOLDER}"
            yield variables, {}, {server.pid}
        return
    variables = environment.variables()
    if form.serve is None:
        yield variables, {}, set()
        return
    options = {"uri": uri, "batch_size": batch_size, "threads": CORES,
               "ports": ports.free(4)}
    with subprocess.Popen(
            [str(environment.PYTHON), str(FOLDER / form.serve), json.dumps(options)],
            env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            universal_newlines=True) as server:
        try:
            for line in server.stdout:
                if line.startswith(("ready", "grpc:")):
                    break
            else:
                raise RuntimeError(f"{form.serve} ended at once")
            yield (variables, {"ports": options["ports"], "service": line.strip()},
                   {server.pid})
        finally:
            end(server)


def end(process):
    """Kills a process that leads a session, and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
