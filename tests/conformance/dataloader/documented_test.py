"""Checks that each lasting difference is documented for users."""

import pathlib

import differences

PAGE = pathlib.Path(__file__).resolve().parents[3] / "client/datasets_in_python.md"


def test_each_difference_is_on_the_page():
    page = PAGE.read_text()
    for difference in differences.DIFFERENT.values():
        assert f"- {difference.reason}\n" in page
