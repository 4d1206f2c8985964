#!/usr/bin/python3
"""Writes image_folder_golden.inc: trees, and what torchvision's ImageFolder finds in
them.

Each tree has a row: {{{kind, path, link target}, ...}, {classes}, {{path, label},
...}, error}. Kinds: 'f' file, 'd' directory, 'l' link, 'p' FIFO; the error is
empty or the class of the exception.
Usage: image_folder_golden.py > image_folder_golden.inc
"""

import os
import random
import tempfile

import torchvision
from torchvision.datasets import ImageFolder

SEED = 4


def quoted(path):
    """Returns a C string literal of a path's bytes. Bytes are in octal, because such an
    escape has a fixed length."""
    return '"' + "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
        for b in os.fsencode(path)) + '"'


def files(*paths):
    return [("f", path, "") for path in paths]


def written_trees():
    yield files("b/1.jpg", "a/2.jpg", "a/1.JPG", "A/x.Jpeg", "a-b/1.png",
                "a b/1.bmp")
    # Nested directories are sorted by their whole paths: '-' and '.' come before '/'.
    yield files("c/a/1.png", "c/a-b/1.png", "c/a.b/1.png", "c/a/x/1.png",
                "c/z.png", "c/1.png", "c/ab/1.png", "c/a/x.png", "c-d/1.png",
                "c/a/x-/1.png")
    # Files have every extension, in mixed case, or similar ones.
    yield files(*(f"x/{i}{e}" for i, e in enumerate(
        (".jpg", ".JPEG", ".pNg", ".ppm", ".BMP", ".pgm", ".tif", ".TIFF",
         ".webp", ".gif", ".jpg.txt", ".jp", "jpg", ".jpeg~", ".t\u0130f"))))
    # Hidden files and directories are treated like others.
    yield files(".hidden/1.jpg", "a/.jpg", "a/.x.png", "a/.git/2.jpg",
                "a/b.jpg/3.jpg", ".top.jpg", "top.jpg")
    # The names have code points of two bytes, of three, beyond the BMP, and invalid
    # UTF-8.
    yield files(*(os.fsdecode(name) for name in (
        b"k/\xff.jpg", b"k/\x80.jpg", b"k/\xc3\xa9.jpg", b"k/\xee\x80\x80.jpg",
        b"k/\xf0\x9f\x98\x80.jpg", b"k/\xe2\x82\xac.jpg", b"k/e.jpg",
        b"k/\xe2\x82.jpg", b"k/\xed\xa0\x80.jpg", b"k/\xef\xbf\xbd.jpg",
        b"k/\xc3.jpg", b"k/\xc3\x41.jpg", b"k/\xfe/1.jpg", b"k/\xc3\xa9/1.jpg",
        b"k/\xf0\x9f\x98\x80/1.jpg", b"\xff/1.jpg", b"\xc3\xa9/1.jpg",
        b"\xf0\x9f\x98\x80/1.jpg", b"\xee\x80\x80/1.jpg")))
    # Links lead to files, to directories and to nothing within the root.
    yield files("a/1.jpg", "a/sub/2.jpg", "b/3.jpg") + [
        ("l", "c", "a"), ("l", "b/file.png", "../a/1.jpg"),
        ("l", "b/dir", "../a/sub"), ("l", "b/dir.jpg", "../a/sub"),
        ("l", "b/gone.jpg", "../nowhere"), ("l", "gone", "nowhere"),
        ("l", "b/text", "3.jpg"), ("l", "b/self.jpg", "self.jpg"),
        ("l", "file", "a/1.jpg")]
    # Entries that are not regular files.
    yield files("a/1.jpg") + [("p", "a/pipe.jpg", ""), ("p", "pipe.jpg", ""),
                              ("d", "a/empty", ""), ("d", "a/e.jpg", "")]
    # ImageFolder refuses these trees.
    yield []
    yield files("1.jpg", "2.png")
    yield files("a/1.jpg", "b/text.txt", "c/1.jpg", "d/e/text.txt") + [
        ("d", "e", "")]


def random_tree(rng):
    tree = {}
    alphabet = "aAbB-._ 0\u00e9\ue000\U0001f600\udcff"

    def name():
        return "".join(rng.choices(alphabet, k=rng.randint(1, 3)))

    for _ in range(rng.randint(1, 25)):
        parts = [name() for _ in range(rng.randint(1, 3))]
        parts.append(name() + rng.choice(
            [".jpg", ".PNG", ".webp", ".tif"] * 8 + [".txt"]))
        if any(part.strip(".") == "" for part in parts):
            continue
        tops = ["/".join(parts[:i]) for i in range(1, len(parts))]
        path = "/".join(parts)
        if path in tree or any(tree.get(top) == "f" for top in tops):
            continue
        tree.update((top, "d") for top in tops)
        tree[path] = "f"
    return files(*(path for path, kind in tree.items() if kind == "f"))


def build(root, tree):
    for kind, path, target in tree:
        path = os.path.join(root, path)
        if kind == "d":
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "f":
            with open(path, "wb"):
                pass
        elif kind == "l":
            os.symlink(target, path)
        else:
            os.mkfifo(path)


def row(tree):
    entries = ", ".join(f"{{'{kind}', {quoted(path)}, {quoted(target)}}}"
                        for kind, path, target in tree)
    classes, samples, error = [], [], ""
    with tempfile.TemporaryDirectory() as root:
        build(root, tree)
        try:
            folder = ImageFolder(root)
            classes = folder.classes
            samples = [(os.path.relpath(path, root), label)
                       for path, label in folder.samples]
        except FileNotFoundError as exception:
            error = type(exception).__name__
    listed = ", ".join(f"{{{quoted(path)}, {label}}}"
                       for path, label in samples)
    return (f"{{{{{entries}}}, {{{', '.join(map(quoted, classes))}}}, "
            f"{{{listed}}}, {quoted(error)}}},")


def main():
    rng = random.Random(SEED)
    print("// Made by image_folder_golden.py with torchvision "
          f"{torchvision.__version__}, seed {SEED}.")
    for tree in written_trees():
        print(row(tree))
    for _ in range(40):
        print(row(random_tree(rng)))


if __name__ == "__main__":
    main()
