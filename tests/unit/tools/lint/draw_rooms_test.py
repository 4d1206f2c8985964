"""server/rooms.svg shows exactly the dependencies in the BUILD files."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools" / "lint"))

import draw_rooms  # noqa: E402
import layers  # noqa: E402


def test_leaves_out_bars_and_what_follows_from_other_arrows():
    uses = {"top": {"middle", "bottom", "proto"}, "middle": {"bottom"},
            "bottom": {"proto"}, "proto": set()}
    assert draw_rooms.reduce(uses) == {
        "top": ["middle"], "middle": ["bottom"], "bottom": []}


def test_every_arrow_leads_down_past_the_boxes():
    uses, _ = draw_rooms.read_builds()
    points, arrows = draw_rooms.place(draw_rooms.reduce(uses))
    assert {room for room in points if isinstance(room, str)} == set(layers.RANK)
    middles = set(points[room] for room in layers.RANK)
    for chain in arrows:
        heights = [y for _, y in chain]
        assert heights == sorted(set(heights))
        assert middles.isdisjoint(chain[1:-1])


@pytest.mark.parametrize("change", [False, True])
def test_tells_a_drawing_that_is_out_of_date(tmp_path, monkeypatch, change):
    monkeypatch.setattr(draw_rooms, "DRAWING", tmp_path / "rooms.svg")
    monkeypatch.setattr(sys, "argv", ["draw_rooms.py"])
    assert draw_rooms.main() == 0
    if change:
        draw_rooms.DRAWING.write_text("another")
    monkeypatch.setattr(sys, "argv", ["draw_rooms.py", "--check"])
    assert draw_rooms.main() == (1 if change else 0)
