"""Prints comments and sentences of pages to be read aloud by somebody who did not
write them: which of them have to be read twice?

    python3 tools/lint/read_aloud.py --seed 37 --count 40

Equal seeds draw equally from an equal tree.
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
    """(place, text) of the comments of C++ and proto files that stand on lines of
    their own."""
    for path in tree.files(*words.CC):
        if not path.startswith(ROOMS):
            continue
        lines = (tree.ROOT / path).read_text().splitlines()
        for number, text in words.comments(path, lines):
            alone = lines[number - 1].lstrip().startswith("//")
            if alone and " " in text and not text.startswith(("namespace", "NOLINT")):
                yield f"{path}:{number}", text


def sentences():
    """(place, text) of the sentences of the pages that people read."""
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
