#!/usr/bin/env python3
"""Draws the images per second by the number of jobs, from the table of RESULTS.md.

Writes images_by_jobs.svg beside that page. The same table gives the same bytes.
"""

import pathlib
import re
import sys
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE, DRAWING = FOLDER / "RESULTS.md", FOLDER / "images_by_jobs.svg"
# Rows of the table, from the top to the bottom of the drawing, and their captions.
SHOWN = {
    "Forebay": "Forebay, equal jobs",
    "Forebay, a seed for each job": "Forebay, a seed for each job",
    "Forebay, `cache.decoded` off": "Forebay, nothing kept decoded",
    "FFCV, raw": "FFCV, its own raw file",
    "FFCV, JPEG": "FFCV, JPEG",
    "tf.data": "tf.data",
    "DALI, CPU": "DALI, CPU",
    "torch `DataLoader`": "torch DataLoader",
}
JOBS = re.compile(r"images/s, (\d+) jobs?")
WIDTH, LEFT, BAR, GAP, TOP = 880, 232, 13, 12, 58
SHADES = ("#b8cfe8", "#6f9fd0", "#1f5c99")


def rates(page):
    """Returns the images per second of each loader by the number of jobs.

    Args:
      page: the text of RESULTS.md.

    Returns:
      A dict: loader to a dict of number of jobs to images/s.

    Raises:
      ValueError: the page has no such table.
    """
    found, columns = {}, {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "images/s, 1 job" in cells:
            columns = {int(JOBS.fullmatch(cell).group(1)): place
                       for place, cell in enumerate(cells) if JOBS.fullmatch(cell)}
        elif columns and not line.startswith("|"):
            break
        elif columns and not cells[0].startswith("---"):
            found[cells[0]] = {jobs: float(cells[place].replace(",", ""))
                               for jobs, place in columns.items()
                               if cells[place] not in ("", "-")}
    if not found:
        raise ValueError("RESULTS.md has no table of images/s by jobs")
    return found


def drawing(by_loader):
    """Returns the SVG, a str, of the dict that rates() returns."""
    shown = [(SHOWN[name], by_loader[name]) for name in SHOWN if name in by_loader]
    largest = max(rate for _, row in shown for rate in row.values())
    rows, at = [], TOP
    for caption, row in shown:
        middle = at + len(row) * BAR / 2 + 4
        rows.append(f'<text x="{LEFT - 10}" y="{middle:g}" text-anchor="end">'
                    f"{escape(caption)}</text>")
        for shade, (_, rate) in zip(SHADES, sorted(row.items())):
            wide = max(1, round((WIDTH - LEFT - 90) * rate / largest))
            rows.append(f'<rect x="{LEFT}" y="{at}" width="{wide}" '
                        f'height="{BAR - 2}" fill="{shade}"/>')
            rows.append(f'<text class="rate" x="{LEFT + wide + 5}" '
                        f'y="{at + BAR - 4}">{rate:,.0f}</text>')
            at += BAR
        at += GAP
    counts = sorted({jobs for _, row in shown for jobs in row})
    legend, across = [], LEFT
    for shade, jobs in zip(SHADES, counts):
        legend.append(f'<rect x="{across}" y="32" width="11" height="11" '
                      f'fill="{shade}"/><text x="{across + 16}" y="42">{jobs} '
                      f"job{'' if jobs == 1 else 's'}</text>")
        across += 78
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {at}" '
        f'width="{WIDTH}" height="{at}" font-family="sans-serif" font-size="13">',
        "<style>.rate{font-size:11px;fill:#444}</style>",
        f'<rect width="{WIDTH}" height="{at}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-weight="bold">Images/s of all jobs on one '
        "machine of two cores, together</text>",
        *legend, *rows, "</svg>", ""])


def main():
    DRAWING.write_text(drawing(rates(PAGE.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
