"""Datasets that a table lists, from the file to a trainer's batches."""

import csv
import json
import os
import shutil
import warnings

import pytest

import forebay
from forebay import transforms as T
from trouble import CROP, ctl

CAPTIONS = ("", 'with, "commas"', "two\nlines", "\u00e9\u4e16")


@pytest.fixture
def table(tmp_path, photos):
    """A folder with copies of the photographs, and rows that list them."""
    (tmp_path / "data").mkdir()
    rows = []
    for name in sorted(path.name for path in photos.iterdir()):
        (tmp_path / "data" / name).mkdir()
        for path in sorted((photos / name).iterdir()):
            shutil.copy(path, tmp_path / "data" / name / path.name)
            rows.append({"file": f"{name}/{path.name}", "kind": name,
                         "caption": CAPTIONS[len(rows) % 4],
                         "number": len(rows) - 5, "unused": 0.5})
    return tmp_path / "data", rows


def write(folder, rows, name="train.csv"):
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return path


def open_manifest(path, **arguments):
    columns = arguments.pop("columns", {"image": "file", "label": "kind"})
    arguments = {"batch_size": 7, "framework": "numpy",
                 "transform": T.CenterCrop(CROP), **arguments}
    return forebay.DataLoader(forebay.manifest(path, **columns), **arguments)


def refusal(error, path, **arguments):
    with pytest.raises(error) as caught:
        with open_manifest(path, **arguments) as loader:
            for _ in loader:
                pass
    return str(caught.value)


@pytest.mark.parametrize("name", ["train.csv", "train.jsonl"])
def test_batches_are_those_of_the_folder(shared_daemon, table, photos, name):
    folder, rows = table
    path = write(folder, rows, name)
    with open_manifest(path) as loader, forebay.DataLoader(
            photos, batch_size=7, framework="numpy",
            transform=T.CenterCrop(CROP)) as other:
        assert loader.dataset.classes == other.dataset.classes
        assert loader.dataset.uri == str(path)
        assert len(loader) == len(other)
        for mine, theirs in zip(loader, other):
            assert mine._fields == theirs._fields == ("image", "label")
            assert (mine.image == theirs.image).all()
            assert (mine.label == theirs.label).all()


@pytest.mark.parametrize("name", ["train.csv", "train.jsonl"])
def test_columns_become_fields(shared_daemon, table, name):
    folder, rows = table
    path = write(folder, rows, name)
    columns = {"image": "file", "label": "number", "text": "caption",
               "again": "number"}
    seen = []
    with open_manifest(path, columns=columns, shuffle=True) as loader:
        assert loader.dataset.classes == []
        for batch in loader:
            assert batch._fields == ("image", "label", "text", "again")
            for text, label, again, number in zip(
                    batch.text, batch.label, batch.again, batch.sample_ids):
                assert text == rows[number]["caption"]
                assert label == again == rows[number]["number"]
                seen.append(int(number))
    assert sorted(seen) == list(range(len(rows)))


@pytest.mark.parametrize("name", ["train.csv", "train.jsonl"])
def test_labels_written_as_floats(shared_daemon, table, name):
    folder, rows = table
    rows = [dict(row, number=float(at % 11)) for at, row in enumerate(rows)]
    path = write(folder, rows, name)
    with open_manifest(path, columns={"image": "file", "label": "number"}
                       ) as loader:
        assert loader.dataset.classes == []
        for batch in loader:
            assert (batch.label == batch.sample_ids % 11).all()


@pytest.mark.parametrize("name,missing,text", [
    ("train.csv", "", "number is empty, but an integer in other rows"),
    ("train.jsonl", None, "number is neither a text nor an integer")])
def test_label_that_is_missing(shared_daemon, table, name, missing, text):
    folder, rows = table
    rows = [dict(row, number=float(at), caption="")
            for at, row in enumerate(rows)]
    rows[3]["number"] = missing
    # The first line of a CSV file has the columns' names.
    line = 5 if name.endswith(".csv") else 4
    assert refusal(forebay.DataError, write(folder, rows, name),
                   columns={"image": "file", "label": "number"}) == (
        f"{folder}: {name}: line {line}: {text}")


@pytest.mark.parametrize("name", ["train.csv", "train.jsonl"])
def test_class_names_that_are_numbers(shared_daemon, table, name):
    folder, rows = table
    rows = [dict(row, number=f"{at % 3}.5") for at, row in enumerate(rows)]
    columns = {"image": "file", "label": "number"}
    path = write(folder, rows, name)
    with pytest.warns(UserWarning, match="all names of classes are numbers"):
        with open_manifest(path, columns=columns) as loader:
            assert loader.dataset.classes == ["0.5", "1.5", "2.5"]
    with pytest.warns(UserWarning, match="all names of classes are numbers"):
        forebay.Dataset(forebay.manifest(path, **columns))
    assert any(f"{folder}: {name}: all names of classes are numbers" in warning
               for warning in ctl(shared_daemon, "status")["warnings"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with open_manifest(path):
            pass


def test_absolute_paths_below_the_manifest(shared_daemon, table):
    folder, rows = table
    rows = [dict(row, file=str(folder / row["file"])) for row in rows]
    with open_manifest(write(folder, rows)) as loader:
        assert sum(len(batch.label) for batch in loader) == len(rows)


def test_a_folder_with_two_names(shared_daemon, table, tmp_path, monkeypatch):
    folder, rows = table
    link = tmp_path / "link"
    link.symlink_to(folder)
    for listed in (folder, link):
        path = write(folder, [dict(row, file=str(listed / row["file"]))
                              for row in rows])
        for manifest in (path, link / path.name):
            with open_manifest(manifest) as loader:
                assert sum(len(batch.label) for batch in loader) == len(rows)
    monkeypatch.chdir(link)
    with open_manifest(path.name) as loader:
        assert len(loader.dataset) == len(rows)


def test_file_urls(shared_daemon, table):
    folder, rows = table
    odd = folder / "a b%20#\u00e9"
    odd.mkdir()
    for row in rows[:10]:
        path = odd / os.path.basename(row["file"])
        os.link(folder / row["file"], path)
        row["file"] = path.as_uri()
    path = write(odd, rows[:10])
    for manifest in (path, path.as_uri(),
                     path.as_uri().replace("file://", "file://localhost")):
        with open_manifest(manifest) as loader:
            assert loader.dataset.uri == str(path)
            assert sum(len(batch.label) for batch in loader) == 10
    rows[0]["file"] = rows[0]["file"].replace("file://", "file://elsewhere")
    assert refusal(forebay.InvalidArgument, write(odd, rows[:10])) == (
        f"{odd}: train.csv: line 2: {rows[0]['file']}: is not a file:// "
        "URL of this host")
    assert refusal(forebay.InvalidArgument, "file://elsewhere/train.csv") == (
        "file://elsewhere/train.csv: is not a file:// URL of this host")


@pytest.mark.parametrize("name", ["train.JSONL", "train.JsonL", "a.json", "a.NDJSON"])
def test_suffixes_of_any_case(shared_daemon, table, name):
    folder, rows = table
    path = folder / name
    write(folder, rows, "train.jsonl").rename(path)
    with open_manifest(path) as loader:
        assert len(loader.dataset) == len(rows)


def test_paths_that_leave_the_folder(shared_daemon, table, tmp_path):
    folder, rows = table
    (tmp_path / "secret.jpg").write_bytes(b"")
    for name in ("../secret.jpg", str(tmp_path / "secret.jpg")):
        path = write(folder, rows[:3] + [dict(rows[3], file=name)])
        text = refusal(forebay.PermissionDenied, path)
        # The row before takes two lines.
        assert text.startswith(f"{folder}: train.csv: line 6: "), text


def test_broken_lines_are_named(shared_daemon, table):
    folder, rows = table
    path = write(folder, rows[:2])
    start = f"{folder}: train.csv: "
    path.write_text(path.read_text() + "short,line\n")
    assert refusal(forebay.DataError, path) == (
        start + "line 4: has 2 fields, but there are 5 columns")
    assert refusal(forebay.InvalidArgument, path,
                   columns={"image": "path"}) == (
        start + "line 1: there is no column path; there is file, kind, "
        "caption, number, unused")
    path.write_text("file,kind\ngone.jpg,x\n")
    assert refusal(forebay.NotFound, path) == (
        start + "line 2: gone.jpg: there is no such file or directory")
    path.write_text("")
    assert refusal(forebay.DataError, path) == (
        start + "has no line of column names")
    assert refusal(forebay.NotFound, folder / "none.csv").startswith(
        f"{folder}: none.csv: ")


def test_json_that_nests_deep(shared_daemon, table):
    folder, rows = table
    path = write(folder, rows, "train.jsonl")
    deep = "[" * 100_000 + "]" * 100_000
    with open_manifest(path) as loader:
        batches = iter(loader)
        next(batches)
        other = folder / "other.jsonl"
        other.write_text(json.dumps(rows[0]) + "\n" + json.dumps(
            dict(rows[1], kind="DEEP")).replace('"DEEP"', deep))
        assert refusal(forebay.DataError, other) == (
            f"{folder}: other.jsonl: line 2: is nested more than 64 deep")
        # The other loader is not affected.
        assert sum(len(batch.label) for batch in batches) == len(rows) - 7


def test_text_that_is_not_utf8(shared_daemon, table):
    folder, rows = table
    path = folder / "train.csv"
    path.write_bytes(f"file,kind\n{rows[0]['file']},\xff".encode("latin-1"))
    assert refusal(forebay.DataError, path,
                   columns={"image": "file", "text": "kind"}) == (
        f"sample 0 of {folder}: {rows[0]['file']}: text: is not UTF-8, which a "
        "text must be, at byte 0")


def test_manifest_and_images_that_change(shared_daemon, table):
    folder, rows = table
    path = write(folder, rows)
    with open_manifest(path) as loader:
        before = loader.dataset.version
        write(folder, rows[:10])
        with open_manifest(path) as other:
            assert len(other.dataset) == 10
            assert other.dataset.version != before
        image = folder / rows[3]["file"]
        content = image.read_bytes()
        image.unlink()
        image.write_bytes(content + b"\0")
        # Because of the image, the loader opens the table anew, and finds other rows.
        with pytest.raises(forebay.StateError) as caught:
            for _ in loader:
                pass
        assert str(caught.value).startswith(f"{path} has changed since")
        write(folder, rows)
        with open_manifest(path) as other:
            assert sum(len(batch.label) for batch in other) == len(rows)


def test_arguments_are_checked(shared_daemon, table):
    folder, rows = table
    path = write(folder, rows)
    with pytest.raises(forebay.InvalidArgument):
        forebay.manifest(path, image=7)
    with pytest.raises(forebay.InvalidArgument, match="give image or audio"):
        forebay.manifest(path, image="file", audio="file")
    with pytest.raises(forebay.InvalidArgument):
        forebay.DataLoader(forebay.manifest(path, image="file"),
                           fields=("image",))
    assert repr(forebay.manifest("a.csv", image="x", label="y")) == (
        "manifest('a.csv', image='x', label='y')")
    assert repr(forebay.manifest("a.csv")) == "manifest('a.csv', image='image')"
    assert repr(forebay.manifest("a.csv", audio="x")) == "manifest('a.csv', audio='x')"
