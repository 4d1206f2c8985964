"""The check of words refuses some sentences and accepts others."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "tools" / "lint"))
words = __import__("words")


def openers(path, text):
    return [finding.split(": ")[1]
            for finding in words.of_comments(path, text.splitlines())]


@pytest.mark.parametrize("text, wanted", [
    ("// Of these, the last.\nint a;", ["opens with Of"]),
    ("// Bytes. Of these, the last.\nint a;", []),
    ("// The rest of what\n// it has.\nint a;", []),
    ("int a;  // As above.", ["opens with As"]),
    ("int a;  // Assigned once.", []),
    ('Call("http://a");  // Else b.', ["opens with Else"]),
    ("/* It is so. */", ["opens with It"]),
    ("/* The first.\n *\n * Of these, two. */", ["opens with Of"]),
    ("// Its bytes.", []),
    ("// One for each.\n\n// Those that wait.", ["opens with One", "opens with Those"]),
])
def test_comments_of_cc(text, wanted):
    assert openers("a.h", text) == wanted


@pytest.mark.parametrize("text, wanted", [
    ('"""That of a framework."""', ["opens with That"]),
    ('def f():\n    """Returns it.\n\n    As said.\n    """\n', ["opens with As"]),
    ('def f():\n    """Returns what\n    it said.\n    """\n', []),
    ("# So it is.\nx = 1", ["opens with So"]),
    ('"""A page.\n\nIt goes on.\n"""\n# Such words.\n',
     ["opens with It", "opens with Such"]),
    ("x = 1  # One of two.", ["opens with One"]),
])
def test_comments_of_python(text, wanted):
    assert openers("a.py", text) == wanted


@pytest.mark.parametrize("text, wanted", [
    ("Text.\n\nOf these, two.\n", ["opens with Of"]),
    ("Text of\nthose that wait.\n", []),
    ("- One.\n- Two.\n", ["opens with One"]),
    ("```\nOf code.\n```\n", []),
    ("| Of cells |\n", []),
])
def test_paragraphs(text, wanted):
    assert openers("a.md", text) == wanted


@pytest.mark.parametrize("line, wanted", [
    ("// The file is no archive.", True),
    ("// There is no archive; there are no files.", False),
    ("// The reader is no longer there.", False),
    ("// This is no more than that.", False),
    ("// The bytes were no text.", True),
    ("// The desk of the sample.", True),
    ("class ZipEnd {", True),
    ("const auto workers = dataset.lanes();", True),
    ("produced->set_affinity_workers(old.v3_lanes());", False),
    ("// malloc's arenas.", False),
])
def test_lines(line, wanted):
    assert bool(list(words.of_lines("a.h", [line]))) == wanted


def test_names(tmp_path, monkeypatch):
    files = {"server/a/pool.h": "class Pool {", "server/b/pool.h": "struct Part;\n",
             "server/b/part.h": "struct Part {", "server/c/slot.h":
             "class Slot final : public Part {", "client/slot.h": "class Slot {",
             "client/loader.h": "class Loader {", "server/loader.h": "class Loader {"}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(words.tree, "ROOT", tmp_path)
    monkeypatch.setattr(words.tree, "files", lambda *_: sorted(files))
    assert [finding.split(":")[0] for finding in words.of_names()] == ["pool.h", "Slot"]
