"""Prints random comments, and random sentences of pages. Somebody who did not write
them reads them aloud, and says which ones have to be read twice.

    python3 tools/lint/read_aloud.py --seed 37 --count 40

The same seed draws the same texts from the same tree.
"""

import argparse
import random
import re
import sys

import tree
import words

ROOMS = ("server/", "client/", "cuda/", "proto/", "tools/forebayctl/")
SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?](?=\s|$)")


def comments():
    """Yields (place, text) of each comment in a C++ or proto file that has lines of its
    own."""
    for path in tree.files(*words.CC):
        if not path.startswith(ROOMS):
            continue
        lines = (tree.ROOT / path).read_text().splitlines()
        for number, text in words.comments(path, lines):
            alone = lines[number - 1].lstrip().startswith("//")
            if alone and " " in text and not text.startswith(("namespace", "NOLINT")):
                yield f"{path}:{number}", text


def sentences():
    """Yields (place, text) of each sentence of a page, without tables and code."""
    for path in tree.files(".md"):
        if path.startswith("tests/golden"):
            continue
        text = re.sub(r"^ *```.*?^ *```|^ {4}.*?$|^\|.*?$|^#.*?$", "",
                      (tree.ROOT / path).read_text(), flags=re.M | re.S)
        for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text):
            for found in SENTENCE.findall(" ".join(paragraph.split())):
                if len(found.split()) > 3:
                    yield path, found.strip(" -*")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    for kind in (comments, sentences):
        print(f"{kind.__name__}, seed {args.seed}:")
        for place, text in chance.sample(sorted(kind()), args.count):
            print(f"  {place}\n    {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
