"""Gives the crash tests the fixtures and modules of the integration tests."""

import importlib.util
import pathlib
import sys

_FOLDER = pathlib.Path(__file__).resolve().parents[1] / "integration"
sys.path.insert(0, str(_FOLDER))
_spec = importlib.util.spec_from_file_location("integration_fixtures",
                                               _FOLDER / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)

daemon = _fixtures.daemon
hung_disk = _fixtures.hung_disk
hung_mount = _fixtures.hung_mount
photos = _fixtures.photos
