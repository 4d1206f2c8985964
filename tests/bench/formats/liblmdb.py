"""py-lmdb, liblmdb's module for Python, which tools/setup installs from PyPI."""

import pathlib
import sys

_PYPI = pathlib.Path(__file__).resolve().parents[3] / ".cache" / "pypi"
# At the end: other modules there are newer than Debian's.
if str(_PYPI) not in sys.path:
    sys.path.append(str(_PYPI))
try:
    import lmdb
except ImportError as error:
    raise RuntimeError(
        "tools/setup could not install what tools/pypi.txt lists") from error

__all__ = ["lmdb"]
