"""Draws server/rooms.svg: the rooms of the server, and which room uses which.

The uses are those of the BUILD files. Each row is a layer of tools/lint/layers.py. An
arrow means "uses"; an arrow is left out if a path of other arrows leads to the same
room. Bars are the rooms that every room may use.

Usage: draw_rooms.py          writes the drawing
       draw_rooms.py --check  says whether it is up to date
"""

import sys
import textwrap

import layers
import tree

DRAWING = tree.ROOT / "server" / "rooms.svg"
BARS = layers.PUBLIC_PACKAGES
WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT, MARGIN = 920, 88, 144, 56, 8
CROSSING = 0.25  # the width of an arrow in a row that it crosses; a box has 1
STYLE = """<style>
text { font: 15px sans-serif; text-anchor: middle; fill: #1f2328 }
text.part { font-size: 11px; fill: #59636e }
rect { fill: #ddf4ff; stroke: #0969da }
rect.bar { fill: #f6f8fa; stroke: #818b98 }
polyline { fill: none; stroke: #818b98; marker-end: url(#arrow) }
</style>
<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8"
 markerHeight="8" orient="auto"><path d="M0 1 7 4 0 7z" fill="#818b98"/></marker>
"""


def read_builds():
    """Reads the BUILD files. Returns ({room: rooms it uses}, {room: its
    folders})."""
    uses = {room: set() for room in layers.RANK}
    parts = {room: [] for room in layers.RANK}
    for path in tree.files("BUILD.bazel"):
        room = layers.room_of(path)
        if room not in uses:
            continue
        part = path[len(room) + 1:].rpartition("/")[0]
        if part:
            parts[room].append(part)
        uses[room] |= {layers.room_of_label(label)
                       for _, argument, label, _ in layers.labels(path)
                       if argument not in layers.EXPORTS}
    return {room: {used for used in found if used in uses and used != room}
            for room, found in uses.items()}, parts


def reduce(uses):
    """Returns the uses without bars, and without rooms that a room also uses through
    another room."""
    def reached(room):
        return set().union(*({used} | reached(used) for used in uses[room]))

    return {room: sorted(used for used in found if used not in BARS and not any(
                used in reached(other) for other in found))
            for room, found in uses.items() if room not in BARS}


def place(uses):
    """Places rooms and arrows on the drawing.

    Args:
      uses: {room: list of the rooms it uses}.

    Returns:
      ({room: (x, y) of its middle}, list of arrows). An arrow is a list of points,
      and has a place of its own in each row that it crosses.
    """
    rows = [list(rooms) for rooms in layers.ORDER]
    above = {}  # for a room or a point of an arrow: the rooms and points above it
    arrows = []
    for room, found in uses.items():
        for used in found:
            ranks = range(layers.RANK[room] + 1, layers.RANK[used])
            chain = [room, *((room, used, rank) for rank in ranks), used]
            for rank in ranks:
                rows[rank].append((room, used, rank))
            for upper, lower in zip(chain, chain[1:]):
                above.setdefault(lower, []).append(upper)
            arrows.append(chain)
    points = {}
    for rank, row in enumerate(rows):
        def middle(item):
            found = [points[upper][0] for upper in above.get(item, ())]
            return sum(found) / len(found) if found else WIDTH / 2
        row.sort(key=middle)
        shares = [1 if item in uses else CROSSING for item in row]
        for number, item in enumerate(row):
            before = sum(shares[:number]) + shares[number] / 2
            points[item] = (before * WIDTH / sum(shares),
                            MARGIN + BOX_HEIGHT / 2 + rank * ROW)
    return points, [[points[item] for item in chain] for chain in arrows]


def line(chain):
    """Returns the SVG of an arrow from one box's lower edge to another's upper edge."""
    corners = [(x, y + side * BOX_HEIGHT / 2) for x, y in chain
               for side in (-1, 1)][1:-1]
    text = " ".join(f"{x:.0f},{y:.0f}" for x, y in corners)
    return f'<polyline points="{text}"/>\n'


def box(room, x, y, parts):
    """Returns the SVG of a room and its folders, with the middle at (x, y)."""
    bar = room in BARS
    width = WIDTH - 2 * MARGIN if bar else BOX_WIDTH
    kind = ' class="bar"' if bar else ""
    folders = textwrap.wrap(" ".join(sorted(parts)), 22)
    y += -7 * len(folders)
    text = (f'<rect{kind} x="{x - width / 2:.0f}" '
            f'y="{y + 7 * len(folders) - BOX_HEIGHT / 2:.0f}" '
            f'width="{width:.0f}" height="{BOX_HEIGHT}" rx="6"/>\n'
            f'<text x="{x:.0f}" y="{y + 5:.0f}">{room.rpartition("/")[2]}'
            '</text>\n')
    for words in folders:
        y += 14
        text += f'<text class="part" x="{x:.0f}" y="{y + 5:.0f}">{words}</text>\n'
    return text


def draw():
    """Returns the whole drawing as SVG text."""
    uses, parts = read_builds()
    points, arrows = place(reduce(uses))
    height = 2 * MARGIN + BOX_HEIGHT + (len(layers.ORDER) - 1) * ROW
    bars = [box(room, WIDTH / 2, points[room][1], []) for room in layers.RANK
            if room in BARS]
    boxes = [box(room, *points[room], parts[room]) for room in uses
             if room not in BARS]
    lines = [line(chain) for chain in arrows]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
            f'{height}">\n<!-- Made by tools/lint/draw_rooms.py. -->\n' + STYLE +
            "".join(bars + lines + boxes) + "</svg>\n")


def main():
    drawing = draw()
    if "--check" not in sys.argv[1:]:
        DRAWING.write_text(drawing)
    elif not DRAWING.exists() or DRAWING.read_text() != drawing:
        print("server/rooms.svg is not what the BUILD files say: run "
              "PYTHONPATH=tools/lint tools/lint/draw_rooms.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
