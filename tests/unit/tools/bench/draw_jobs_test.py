"""The drawing in README.md shows the figures of its table."""

import pathlib
import sys
from xml.etree import ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tests" / "bench"))
draw_jobs = __import__("draw_jobs")

TABLE = """
| | version | images/s, 1 job | images/s, 2 jobs | CPU |
|---|---|---|---|---|
| Forebay | | 1,000 | 2,000 | 1 |
| DALI, CPU | 2.4 | 500 | - | 1 |

| | other |
"""


def test_the_drawing_shows_the_page():
    assert draw_jobs.DRAWING.read_text() == draw_jobs.drawing(
        draw_jobs.rates(draw_jobs.PAGE.read_text()))


def test_rates_are_read_from_the_table():
    assert draw_jobs.rates(TABLE) == {
        "Forebay": {1: 1000.0, 2: 2000.0}, "DALI, CPU": {1: 500.0}}


def test_a_page_without_the_table_is_refused():
    with pytest.raises(ValueError, match="no table"):
        draw_jobs.rates("# Results\n")


def test_bars_are_as_long_as_their_rates():
    drawn = ElementTree.fromstring(draw_jobs.drawing(draw_jobs.rates(TABLE)))
    bars = [int(one.get("width")) for one in drawn.iter()
            if one.tag.endswith("rect") and one.get("height") == str(draw_jobs.BAR - 2)]
    widest = draw_jobs.WIDTH - draw_jobs.LEFT - 90
    assert [round(widest / wide) for wide in bars if wide != draw_jobs.BAR - 2] == [
        2, 1, 4]
