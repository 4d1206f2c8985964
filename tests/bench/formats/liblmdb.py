"""py-lmdb, liblmdb's module for Python, which tools/setup installs from PyPI."""

import pathlib
import sys

_PYPI = pathlib.Path(__file__).resolve().parents[3] / ".cache" / "pypi"
# The path is removed after the import: other modules there are newer than Debian's.
sys.path.append(str(_PYPI))
try:
    import lmdb
except ImportError as error:
    raise RuntimeError(
        "tools/setup could not install what tools/pypi.txt lists") from error
finally:
    sys.path.remove(str(_PYPI))

__all__ = ["lmdb"]
