#!/usr/bin/env python3
"""Writes forebayd.toml from proto/config.proto: every key, its comment and its default.

    deploy/make_forebayd_toml.py            # writes the page
    deploy/make_forebayd_toml.py --check    # fails if the page is not up to date
"""

import argparse
import pathlib
import re
import sys
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
SCHEMA, PAGE = FOLDER.parent / "proto" / "config.proto", FOLDER / "forebayd.toml"
HEAD = """\
# forebayd's configuration: every key, with its default. A file needs only the
# keys that it changes; a key that is not listed here is refused by name.
#
#   forebayd --config /etc/forebay/forebayd.toml
"""
WIDTH = 81
MESSAGE = re.compile(r"message (\w+) \{")
FIELD = re.compile(r"optional (\w+) (\w+) = \d+(?: \[(.*)\])?;")
DEFAULT = re.compile(r'default = ("(?:[^"\\]|\\.)*"|[^,\]]+)')
RANGE = re.compile(r"min: (\d+), max: (\d+)")
WORDS = re.compile(r"words: \[(.*?)\], form: NOTHING_ELSE")


def messages(text):
    """Reads the messages of a schema.

    Returns:
      A dict from each message's name to (comment, fields). A field is (comment,
      type, name, options).

    Raises:
      ValueError: a line is not one of a schema of messages with optional fields.
    """
    found, fields, comment = {}, None, []
    for line in text.splitlines():
        line = line.strip()
        message, field = MESSAGE.fullmatch(line), FIELD.fullmatch(line)
        if line.startswith("//"):
            comment.append(line[2:].strip())
            continue
        if message:
            fields = []
            found[message.group(1)] = " ".join(comment), fields
        elif field and fields is not None:
            fields.append((" ".join(comment), *field.groups("")))
        elif line not in ("", "}") and not re.match("syntax|package|import", line):
            raise ValueError(f"{SCHEMA.name}: cannot read {line!r}")
        comment = []
    return found


def _comment(text):
    return textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="# ",
                         break_long_words=False, break_on_hyphens=False)


def _limits(options):
    """Returns a sentence on the values that a key's options allow; empty if the
    key's comment names these values."""
    between, words = RANGE.search(options), WORDS.search(options)
    if between:
        return f" From {between.group(1)} to {between.group(2)}."
    if words:
        *first, last = words.group(1).split(", ")
        return f" {', '.join(first)} or {last}."
    return ""


def page(text):
    """Returns the text of forebayd.toml for the text of a schema."""
    every = messages(text)
    parts = [HEAD]
    for _, table, name, _ in every["Config"][1]:
        comment, fields = every[table]
        lines = [f"[{name}]"] + ([_comment(comment)] if comment else [])
        for about, _, key, options in fields:
            default = DEFAULT.search(options).group(1)
            lines += [_comment(about + _limits(options)), f"{key} = {default}"]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    made = page(SCHEMA.read_text())
    if not args.check:
        PAGE.write_text(made)
    elif PAGE.read_text() != made:
        print("deploy/forebayd.toml is not what proto/config.proto says: run "
              "deploy/make_forebayd_toml.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
