"""Writing the figures of benches into a page."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tools" / "suite"))
results_page = __import__("results_page")

ROW = {"bench": "floor", "metric": "a | b", "value": 4345.0, "reference": 989.04,
       "ratio": 4.3931, "unit": "images/s"}


def test_a_section_has_a_line_for_each_row():
    text = results_page.section("floor", [ROW, dict(ROW, value=0.00031)], "Then.")
    assert text.splitlines() == [
        "## floor", "", "Then.", "",
        "| measured / compared with | Forebay | compared | unit | ratio |",
        "|---|---|---|---|---|",
        "| a / b | 4,345 | 989.0 | images/s | 4.39 |",
        "| a / b | 0.00031 | 989.0 | images/s | 4.39 |"]


def test_a_bench_may_bring_its_own_table():
    text = results_page.section("peers", [ROW], "Then.", table="| x |\n|---|\n")
    assert text == "## peers\n\nThen.\n\n| x |\n|---|\n"


def test_a_section_replaces_its_own_and_leaves_the_others():
    page = "# Results\n\nText.\n\n## a\n\nold a\n\n## b\n\nold b\n"
    new = {"b": "## b\n\nnew\n", "c": "## c\n\nnew\n"}
    assert results_page.replaced(page, new) == (
        "# Results\n\nText.\n\n## a\n\nold a\n\n## b\n\nnew\n\n## c\n\nnew\n")
    assert results_page.replaced(page, {}) == page


def test_a_page_may_begin_with_a_section():
    assert results_page.replaced("## a\n\nold\n", {"a": "## a\n\nnew\n"}) == (
        "## a\n\nnew\n")


def test_the_origin_names_day_commit_and_machine():
    sentence = results_page.origin(ROOT)
    assert sentence.startswith("Measured on 2") and sentence.endswith(".")
    assert " core" in sentence
