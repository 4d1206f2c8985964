"""The Python modules that protoc makes of proto/."""

import atexit
import functools
import importlib
import shutil
import subprocess
import sys
import tempfile

from trouble import ROOT


@functools.lru_cache(maxsize=None)
def _compiled():
    folder = tempfile.mkdtemp(prefix="forebay-proto-")
    atexit.register(shutil.rmtree, folder)
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("proto/*.proto"))
    subprocess.run(["protoc", f"--proto_path={ROOT}", f"--python_out={folder}", *files],
                   cwd=ROOT, check=True)
    return folder


@functools.lru_cache(maxsize=None)
def proto_module(name):
    """Returns the module of one file of proto/, such as "job"."""
    folder = _compiled()
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(f"proto.{name}_pb2")
    finally:
        sys.path.remove(folder)
