"""The fsspec file system reads through the host's cache."""

import datetime
import importlib
import os
import pathlib
import pickle
import subprocess
import sys
import zipfile

import fsspec
import pandas
import pytest

import forebay
import forebay.filesystem
from opened_files import MIB, make_files
from trouble import ROOT, ctl


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tree of files. Tests must not change it."""
    place = tmp_path_factory.mktemp("tree")
    make_files(place, [0, 5, 3 * MIB])
    (place / "below").mkdir()
    for number in range(3):
        (place / "below" / f"{number}.csv").write_text(f"a,b\n{number},x\n")
    (place / "nowhere").symlink_to("missing")
    (place / "link").symlink_to("5.bin")
    return place


@pytest.fixture
def fs():
    return fsspec.filesystem("forebay")


def test_files_are_read(shared_daemon, folder, fs):
    content = (folder / f"{3 * MIB}.bin").read_bytes()
    path = f"forebay://{folder}/{3 * MIB}.bin"
    assert fs.cat_file(path) == fs.cat(path) == content
    assert fs.cat_file(path, 7, 90) == content[7:90]
    assert fs.cat_file(path, -9, -2) == content[-9:-2]
    assert fs.cat_ranges([path, path], [0, MIB], [3, MIB + 3]) == [
        content[:3], content[MIB:MIB + 3]]
    assert fs.head(path, 5) == content[:5] and fs.tail(path, 5) == content[-5:]
    with fs.open(path) as file:
        assert isinstance(file, forebay.File) and file.read() == content
    with fsspec.open(path, block_size=5 << 20) as file:
        file.seek(9)
        assert file.read(9) == content[9:18]
    with fsspec.open(f"forebay://{folder}/below/1.csv", "r") as file:
        assert file.readlines() == ["a,b\n", "1,x\n"]
    assert fs.read_text(f"{folder}/below/2.csv").endswith("2,x\n")


def test_files_are_copied_out(shared_daemon, folder, fs, tmp_path):
    fs.get(f"{folder}/{3 * MIB}.bin", str(tmp_path / "copy"))
    assert ((tmp_path / "copy").read_bytes() ==
            (folder / f"{3 * MIB}.bin").read_bytes())


def test_what_there_is(shared_daemon, folder, fs):
    path = f"{folder}/5.bin"
    info = fs.info(path)
    assert (info["name"], info["size"], info["type"]) == (path, 5, "file")
    assert fs.size(path) == 5 and fs.isfile(path) and not fs.isdir(path)
    assert fs.isdir(folder) and not fs.isfile(str(folder))
    assert fs.exists(path) and not fs.exists(path + "x")
    assert fs.info(f"{folder}/link")["islink"]
    assert fs.modified(path) == datetime.datetime.fromtimestamp(
        os.stat(path).st_mtime, datetime.timezone.utc)
    assert fs.ukey(path) == fs.ukey(path) != fs.ukey(f"{folder}/0.bin")
    names = ["0.bin", "3145728.bin", "5.bin", "below", "link"]
    assert fs.ls(str(folder), detail=False) == [f"{folder}/{n}" for n in names]
    assert {e["type"] for e in fs.ls(folder)} == {"file", "directory"}
    assert fs.ls(path) == [info]
    tables = [f"{folder}/below/{number}.csv" for number in range(3)]
    assert fs.glob(f"forebay://{folder}/**/*.csv") == tables
    assert fs.find(f"{folder}/below") == tables
    assert len(fs.ls("/", detail=False)) > 3
    with pytest.raises(FileNotFoundError, match="No such file"):
        fs.ls(f"{folder}/none")
    with pytest.raises(FileNotFoundError):
        fs.info(f"{folder}/none")
    with pytest.raises(IsADirectoryError):
        fs.open(folder)
    with pytest.raises(forebay.InvalidArgument, match="begins with a slash"):
        fs.open("forebay://data/x")


def test_nothing_is_written(shared_daemon, tmp_path, fs):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    for write in (lambda: fs.open(path, "wb"), lambda: fs.rm(path),
                  lambda: fs.mkdir(tmp_path / "new"), lambda: fs.touch(path),
                  lambda: fs.pipe_file(str(path), b"y"),
                  lambda: fs.mv(path, tmp_path / "new")):
        with pytest.raises(forebay.Unsupported):
            write()
    assert path.read_bytes() == b"x"
    assert os.listdir(tmp_path) == ["file"]


def test_chained_urls(shared_daemon, folder, tmp_path):
    path = folder / "below" / "1.csv"
    with fsspec.open(f"forebay::file://{path}") as file:
        assert isinstance(file, forebay.File)
        assert file.read() == path.read_bytes()
    fs, where = fsspec.core.url_to_fs(f"forebay://below::file://{folder}")
    assert fs.cat(f"{where}/1.csv") == path.read_bytes()
    assert fs.ls(where, detail=False) == [f"below/{n}.csv" for n in range(3)]
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.write(path, "inner.csv")
    inner = f"zip://inner.csv::forebay://{tmp_path}/z.zip"
    with fsspec.open(inner) as file:
        assert file.read() == path.read_bytes()
    assert list(pandas.read_csv(inner, compression=None)["a"]) == [1]
    with pytest.raises(forebay.Unsupported, match="forebay::zip://"):
        fsspec.open(f"forebay::zip://a::{tmp_path}/z.zip").open()


def test_tables_are_read_by_pandas(shared_daemon, folder):
    table = pandas.read_csv(f"forebay://{folder}/below/2.csv")
    assert list(table["a"]) == [2]
    table = pandas.read_csv(f"forebay://{folder}/below/2.csv",
                            storage_options={"block_size": 65536})
    assert list(table["b"]) == ["x"]


def test_is_pickled(shared_daemon, folder, fs):
    again = pickle.loads(pickle.dumps(fs))
    assert again.cat(f"{folder}/5.bin") == fs.cat(f"{folder}/5.bin")
    opened = fsspec.open(f"forebay://{folder}/5.bin")
    with pickle.loads(pickle.dumps(opened)) as file:
        assert file.read() == (folder / "5.bin").read_bytes()


@pytest.fixture
def cloud(fake_gcs, tmp_path, monkeypatch):
    """A daemon that can read a bucket with the object "data/a.csv"."""
    from daemons import serving
    fake_gcs.fill("tables", {"data/a.csv": b"a\n7\n"})
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    place = tmp_path / "daemon"
    place.mkdir()
    with serving(place) as started:
        yield started


def test_objects(cloud, fake_gcs, fs):
    web = fake_gcs.url.replace("://", "/")
    for path in ("forebay://gs/tables/data/a.csv", "gs://tables/data/a.csv",
                 f"forebay://{web}/tables/data/a.csv"):
        assert fs.cat(path) == b"a\n7\n"
        info = fs.info(path)
        assert info["size"] == 4 and info["type"] == "file" and info["stamp"]
        assert fs.exists(path) and not fs.exists(path + ".none")
        assert fs.ukey(path) == fs.ukey(path)
    assert list(pandas.read_csv("forebay://gs/tables/data/a.csv")["a"]) == [7]
    with pytest.raises(FileNotFoundError, match="gs://tables"):
        fs.info("gs/tables/none")
    with pytest.raises(forebay.Unsupported, match="time of change"):
        fs.modified("gs/tables/data/a.csv")
    total = ctl(cloud, "cache")["total"]
    # The bytes read from the bucket and the web.
    assert int(total["source"]["bytes"]) == 8


def test_listing_a_bucket_is_left_to_its_own_file_system(cloud, fs, monkeypatch):
    class Bucket(fsspec.AbstractFileSystem):
        """Stands in for gcsfs."""

        protocol = "gs"

        def ls(self, path, detail=True, **_):
            found = {"tables/data": [{"name": "tables/data/a.csv", "size": 4,
                                      "type": "file"}],
                     "tables": [{"name": "tables/data", "size": 0,
                                 "type": "directory"}]}
            if path not in found:
                raise FileNotFoundError(path)
            return found[path]

    try:
        import gcsfs  # noqa: F401
    except ImportError:
        with pytest.raises(forebay.Unsupported, match="gs://tables/data: is l"):
            fs.ls("gs/tables/data")
    registry = importlib.import_module("fsspec.registry")
    monkeypatch.setitem(registry._registry, "gs", Bucket)
    assert fs.ls("gs/tables/data", detail=False) == ["gs/tables/data/a.csv"]
    assert fs.glob("gs/tables/*/*.csv") == ["gs/tables/data/a.csv"]
    assert fs.isdir("gs/tables/data") and not fs.isdir("gs/tables/other")
    with fsspec.open("forebay::gs://tables/data/a.csv") as file:
        assert isinstance(file, forebay.File) and file.read() == b"a\n7\n"


def test_fsspec_finds_it_where_forebay_is_installed(tmp_path):
    """tools/install and the wheel announce the file system by an entry point."""
    info = tmp_path / "forebay-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: forebay\nVersion: 1\n")
    build = (ROOT / "deploy" / "wheel" / "build.py").read_text()
    entry = "[fsspec.specs]\nforebay = forebay.filesystem:ForebayFileSystem"
    assert entry in build
    assert entry.replace("\n", "\\n") in (ROOT / "tools/install").read_text()
    (info / "entry_points.txt").write_text(entry + "\n")
    said = subprocess.run(
        [sys.executable, "-c", "import fsspec; print("
         "fsspec.get_filesystem_class('forebay').__module__)"],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(
            [str(tmp_path), str(pathlib.Path(forebay.__file__).parents[1])])),
        check=True, stdout=subprocess.PIPE).stdout.decode()
    assert said == "forebay.filesystem\n"
