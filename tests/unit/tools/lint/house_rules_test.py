"""The rule about the names of test cases."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "tools" / "lint"))
house_rules = __import__("house_rules")


@pytest.mark.parametrize("name", ["A, b", "[a]", "All of *", r'A \"word\"'])
@pytest.mark.parametrize("head", ["TEST_CASE(", "TEST_CASE_METHOD(Fixture, ",
                                  "SUITE_CASE(\n    Suite,\n    "])
def test_finds_a_name_that_no_filter_chooses(head, name):
    text = f'\n{head}"Is " "{name}", "[a][b]") {{}}\n'
    assert [found.split(": ")[0] for found in
            house_rules.unfilterable("a_test.cc", text)] == ["a_test.cc:2"]


def test_tags_are_no_part_of_a_name():
    assert not list(house_rules.unfilterable(
        "a_test.cc", 'TEST_CASE("It\'s 7: (a) or b?", "[a][b]") {}\n'))
