"""Writes rows of benches into a page of Markdown, a section for each bench.

A new section replaces the old section of the same bench. All other sections, and the
text before the first section, stay as they are. A page may therefore have figures of
several days; each section names its day.
"""

import datetime
import os
import platform
import re
import subprocess

_SECTION = re.compile(r"^## ", re.MULTILINE)


def _cpu_model():
    """Returns the CPU's name from /proc/cpuinfo, or else the architecture."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file
                     if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def _commit(root):
    """Returns the checkout's short commit, with "+" if files differ; "" without git."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], check=True,
                              capture_output=True, text=True).stdout.strip()
    try:
        return git("rev-parse", "--short", "HEAD") + \
            ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def origin(root):
    """Returns one sentence: the day, the commit and the machine of a measurement."""
    commit = _commit(root)
    cores = len(os.sched_getaffinity(0))
    return (f"Measured on {datetime.date.today().isoformat()}"
            f"{f' at commit {commit}' if commit else ''}, on {cores} "
            f"core{'' if cores == 1 else 's'} of {_cpu_model()}.")


def _number(value):
    """Returns a number with four significant digits and with commas."""
    if value != 0 and abs(value) < 0.001:
        return f"{value:.3g}"
    digits = max(0, 4 - len(f"{abs(value):.0f}")) if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}"


def section(name, rows, measured, table=None):
    """Returns the section of one bench.

    Args:
      name: the bench's name.
      rows: its rows, as figures.row makes them.
      measured: one sentence, as origin() returns it.
      table: a Markdown table that replaces the table of the rows; None: the rows' own.

    Returns:
      A str that ends with a newline.
    """
    if table is None:
        lines = ["| measured / compared with | Forebay | compared | unit | ratio |",
                 "|---|---|---|---|---|"]
        lines += [f"| {row['metric'].replace('|', '/')} | {_number(row['value'])} | "
                  f"{_number(row['reference'])} | {row['unit']} | {row['ratio']:.3g} |"
                  for row in rows]
        table = "\n".join(lines)
    return f"## {name}\n\n{measured}\n\n{table.rstrip()}\n"


def replaced(page, sections):
    """Returns the page with new sections in place of the old ones of the same names.

    Args:
      page: a str of Markdown.
      sections: a dict from benches' names to section()'s results. Sections that the
        page lacks follow its last section, in the order of the dict.
    """
    starts = [found.start() for found in _SECTION.finditer(page)] + [len(page)]
    parts = [page[:starts[0]].rstrip("\n")]
    left = dict(sections)
    for begin, end in zip(starts, starts[1:]):
        old = page[begin:end]
        name = old.splitlines()[0][len("## "):].strip()
        parts.append(left.pop(name, old).rstrip("\n"))
    parts += [text.rstrip("\n") for text in left.values()]
    return "\n\n".join(part for part in parts if part) + "\n"
