"""Today's stack: the newest torch and training frameworks, in .cache/today.

tools/setup --today makes this virtual environment from the list in tools/today.txt.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME = "today"  # the argument of tools/test that asks for these tests
LIST = ROOT / "tools" / "today.txt"
PLACE = ROOT / ".cache" / "today"
PYTHON = PLACE / "bin" / "python"
# The tests that run loaders in torch and in training frameworks.
TESTS = (
    "tests/integration/frameworks_test.py",
    "tests/integration/stage_state_test.py",
    "tests/integration/stage_subset_test.py",
    "tests/integration/test_client_state.py",
    "tests/integration/drop_in_order_test.py",
    "tests/integration/drop_in_parts_test.py",
    "tests/integration/drop_in_test.py",
    "tests/integration/moving_test.py",
    "tests/integration/torch_attributes_test.py",
    "tests/unit/client/python/test_stage_feed.py",
    "tests/unit/client/python/test_stage_seeds.py",
)


def missing():
    """Returns why these tests cannot run; None if they can."""
    marker = PLACE / LIST.name
    if not marker.exists():
        return "tools/today.txt is not installed: see tools/setup --today"
    if marker.read_text() != LIST.read_text():
        return ".cache/today holds an older list: run tools/setup --today again"
    return None
