"""forebay.open gives the same files as open() does, from the cache that all jobs
share."""

import errno
import io
import json
import os
import random
import tarfile
import zipfile

import numpy
import PIL.Image
import pandas
import pytest
import torch

import forebay
from opened_files import MIB, make_files
from raw_session import in_child
from trouble import ctl

SIZES = [0, 1, 511, 65536, 65537, MIB - 1, MIB, MIB + 1, 3 * MIB, 9 * MIB + 77]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of random bytes, by their sizes. Tests must not change them."""
    return make_files(tmp_path_factory.mktemp("files"), SIZES)


@pytest.fixture
def large(files):
    return files[SIZES[-1]]


def source_bytes(daemon):
    """Returns how many bytes the daemon has read from disks for all jobs."""
    return int(ctl(daemon, "cache")["total"].get("source", {}).get("bytes", 0))


@pytest.mark.parametrize("size", SIZES)
def test_the_whole_file(shared_daemon, files, size):
    expected = files[size].read_bytes()
    with forebay.open(files[size]) as file:
        assert file.size == size == len(expected)
        assert file.read() == expected
        assert file.read() == b"" and file.read(5) == b"" and file.tell() == size
    assert file.closed
    with forebay.open(str(files[size]), block_size=65536) as file:
        assert b"".join(iter(lambda: file.read(10_000), b"")) == expected
    assert forebay.open(os.fsencode(files[size])).read() == expected
    assert forebay.open(f"file://{files[size]}").read() == expected


@pytest.mark.parametrize("seed", range(6))
def test_any_calls_do_as_with_a_builtin_file(shared_daemon, files, seed):
    chance = random.Random(seed)
    for path in files.values():
        size = path.stat().st_size
        with open(path, "rb") as theirs, forebay.open(
                path, block_size=chance.choice([65536, MIB])) as ours:
            for _ in range(60):
                here = chance.choice([0, size, chance.randint(0, size + 9)])
                count = chance.choice(
                    [0, 1, 100, 70_000, MIB, 3 * MIB, chance.randint(0, MIB)])
                name, arguments = chance.choice([
                    ("seek", (here,)), ("read", (count,)), ("read1", (count,)),
                    ("seek", (-min(here, size), os.SEEK_END)), ("tell", ()),
                    ("seek", (chance.randint(0, 9), os.SEEK_CUR)),
                    ("readline", (count,)), ("read", (-1,))])
                wanted = getattr(theirs, name)(*arguments)
                if name == "read1":  # may return fewer bytes
                    theirs.seek(-len(wanted), os.SEEK_CUR)
                    found = ours.read1(count)
                    assert found == theirs.read(len(found))
                    assert bool(found) == bool(wanted)
                    continue
                assert getattr(ours, name)(*arguments) == wanted
                assert ours.tell() == theirs.tell()


def test_buffers_are_filled(shared_daemon, large):
    expected = large.read_bytes()
    with forebay.open(large) as file:
        buffer = numpy.zeros(5 * MIB // 4, "int32")
        assert file.readinto(buffer) == 5 * MIB
        assert buffer.tobytes() == expected[:5 * MIB]
        assert file.readinto1(bytearray(10)) == 10
        assert file.tell() == 5 * MIB + 10
        assert file.readinto(bytearray(0)) == 0
        assert file.peek(1)[:1] == expected[5 * MIB + 10:][:1]
        file.seek(-3, os.SEEK_END)
        tail = bytearray(9)
        assert file.readinto(tail) == 3 and tail == expected[-3:] + bytes(6)


def test_is_a_file(shared_daemon, files):
    file = forebay.open(files[MIB])
    assert isinstance(file, io.BufferedIOBase) and isinstance(file, forebay.File)
    assert file.readable() and file.seekable() and not file.writable()
    assert not file.isatty() and file.mode == "rb"
    with forebay.open(files[MIB], "rt", encoding="latin-1") as text, \
            open(files[MIB], "rt", encoding="latin-1") as expected:
        assert text.mode == expected.mode == "rt"
    assert file.name == files[MIB] and file.uri == str(files[MIB])
    assert file.version[:2] == (MIB, files[MIB].stat().st_mtime_ns)
    for wrong in (lambda: file.seek(-1), lambda: file.seek(-MIB - 1, os.SEEK_END),
                  lambda: file.raw.seek(0, 9)):
        with pytest.raises(OSError) as caught:
            wrong()
        assert caught.value.errno == errno.EINVAL
    for wrong in (file, open(files[MIB], "rb")):
        with wrong, pytest.raises(ValueError, match="offset-sized"):
            wrong.seek(1 << 70)
    file = forebay.open(files[MIB])
    with pytest.raises(TypeError):
        file.raw.seek(1.5)
    assert file.raw.tell() == 0
    assert file.seek((1 << 63) - 1) == (1 << 63) - 1 and file.read(1) == b""
    for wrong in (lambda: file.write(b""), file.fileno, file.truncate):
        with pytest.raises(io.UnsupportedOperation):
            wrong()
    file.close()
    file.close()
    for wrong in (file.read, file.tell, file.raw.tell, file.raw.readall,
                  lambda: file.seek(0), lambda: file.raw.readinto(bytearray(1))):
        with pytest.raises(ValueError, match="closed file"):
            wrong()


def test_text(shared_daemon, tmp_path):
    path = tmp_path / "text"
    path.write_bytes("eins\r\nzwölf\ndrei".encode("latin-1"))
    with forebay.open(path, "r", encoding="latin-1") as file:
        assert list(file) == ["eins\n", "zwölf\n", "drei"]
        assert file.name == path
    with forebay.open(path, "rt", encoding="utf-8", errors="replace",
                      newline="") as file:
        assert file.readline() == "eins\r\n" and "\ufffd" in file.readline()
    with forebay.open(path) as file:
        assert file.readlines()[1:] == [b"zw\xf6lf\n", b"drei"]
    with pytest.raises(LookupError):
        forebay.open(path, "r", encoding="no-such")


@pytest.mark.parametrize("mode", ["w", "wb", "ab", "x", "r+", "rb+", "wt"])
def test_writing_is_refused(shared_daemon, files, mode):
    with pytest.raises(forebay.Unsupported, match="use open()"):
        forebay.open(files[1], mode)


@pytest.mark.parametrize("arguments, message", [
    ({"mode": "q"}, "mode must be"), ({"mode": 3}, "mode must be"),
    ({"mode": "rbt"}, "mode must be"), ({"encoding": "utf-8"}, "are of text"),
    ({"block_size": 1000}, "power of two"), ({"block_size": 1 << 30}, "power"),
    ({"root": "/nowhere/at/all"}, "does not lie below"),
    ({"root": "gs://bucket"}, "does not lie below")])
def test_arguments_that_are_none(shared_daemon, files, arguments, message):
    with pytest.raises(forebay.InvalidArgument, match=message):
        forebay.open(files[1], **arguments)


@pytest.mark.parametrize("what, kind, builtin", [
    ("missing", forebay.NotFound, FileNotFoundError),
    ("file/below", forebay.NotFound, None),
    ("dangling", forebay.NotFound, FileNotFoundError),
    ("folder", forebay.IsADirectory, IsADirectoryError),
    ("fifo", forebay.InvalidArgument, None),
    ("loop", forebay.InvalidArgument, None)])
def test_errors_of_places(shared_daemon, tmp_path, what, kind, builtin):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(kind, match=f"{tmp_path}/{what}: ") as caught:
        forebay.open(tmp_path / what)
    assert isinstance(caught.value, forebay.ForebayError)
    if builtin is not None:
        assert isinstance(caught.value, builtin)
        with pytest.raises(builtin) as theirs:
            open(tmp_path / what, "rb")
        assert caught.value.errno == theirs.value.errno
    with pytest.raises(forebay.Unsupported, match="ftp://bucket/x"):
        forebay.open("ftp://bucket/x")
    for wrong in (None, 3, "", "a\0b"):
        with pytest.raises(forebay.InvalidArgument, match="the file"):
            forebay.open(wrong)


def test_links_lead_where_they_lead(shared_daemon, files, tmp_path, monkeypatch):
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    (blobs / "x").write_bytes(b"blob")
    (tmp_path / "snapshot" / "a").mkdir(parents=True)
    (tmp_path / "snapshot" / "a" / "file").symlink_to("../../blobs/x")
    (tmp_path / "other").symlink_to(tmp_path / "snapshot" / "a")
    assert forebay.open(tmp_path / "snapshot" / "a" / "file").read() == b"blob"
    # The kernel resolves ".." after links. The text of the path alone does not tell the
    # file.
    monkeypatch.chdir(tmp_path)
    assert forebay.open("other/../../blobs/x").read() == b"blob"
    assert forebay.open("blobs/x", root="blobs").read() == b"blob"
    with pytest.raises(forebay.PermissionDenied):
        forebay.open("snapshot/a/file", root="snapshot")


def test_readers_of_others(shared_daemon, photos, tmp_path):
    chance = numpy.random.RandomState(2)
    table = pandas.DataFrame({"a": chance.randint(0, 9, 60_000),
                              "b": chance.rand(60_000)})
    table.to_csv(tmp_path / "t.csv", index=False)
    pandas.testing.assert_frame_equal(
        pandas.read_csv(forebay.open(tmp_path / "t.csv")),
        pandas.read_csv(tmp_path / "t.csv"))
    array = chance.rand(300, 1000)
    numpy.save(tmp_path / "a.npy", array)
    numpy.savez(tmp_path / "a.npz", x=array, y=array[:3])
    assert (numpy.load(forebay.open(tmp_path / "a.npy")) == array).all()
    assert (numpy.load(forebay.open(tmp_path / "a.npz"))["y"] == array[:3]).all()
    pictures = sorted(photos.glob("*/*.jpg"))
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive, \
            tarfile.open(tmp_path / "z.tar", "w") as tar:
        for number, path in enumerate(pictures):
            archive.write(path, f"{number}.jpg")
            tar.add(path, f"{number}.jpg")
    with zipfile.ZipFile(forebay.open(tmp_path / "z.zip")) as archive:
        for number in (40, 2, 17):
            assert archive.read(f"{number}.jpg") == pictures[number].read_bytes()
    with tarfile.open(fileobj=forebay.open(tmp_path / "z.tar")) as tar:
        for path, member in zip(pictures, tar):
            assert tar.extractfile(member).read() == path.read_bytes()
    (tmp_path / "j.json").write_text('{"ä": [1]}')
    with forebay.open(tmp_path / "j.json", "r", encoding="utf-8") as file:
        assert json.load(file) == {"ä": [1]}
    torch.save({"weight": torch.arange(900_000)}, tmp_path / "model.pt")
    with forebay.open(tmp_path / "model.pt") as file:
        assert (torch.load(file)["weight"] == torch.arange(900_000)).all()
    for path in pictures[:8]:
        ours = PIL.Image.open(forebay.open(path))
        assert (numpy.asarray(ours) == numpy.asarray(PIL.Image.open(path))).all()


def test_a_second_reader_reads_nothing_from_the_disk(daemon, large, photos):
    assert forebay.open(large).read() == large.read_bytes()
    once = source_bytes(daemon)
    assert once == large.stat().st_size
    assert in_child(lambda: forebay.open(large).read()) == 0
    with forebay.open(large) as file:
        for position in (5 * MIB, 3, 9 * MIB):
            file.seek(position)
            file.read(1000)
    assert source_bytes(daemon) == once
    # If the root is the folder, the cache has the same keys as for a dataset's files.
    samples = forebay.Dataset(photos, decode=False).__getitems__(range(48))
    read = source_bytes(daemon)
    found = [forebay.open(path, root=photos).read()
             for path in sorted(photos.glob("*/*.jpg"))]
    assert found == [image for image, _ in samples]
    assert source_bytes(daemon) == read


def test_only_what_is_wanted_is_read(daemon, large):
    with forebay.open(large) as file:
        file.seek(-100, os.SEEK_END)
        assert file.read() == large.read_bytes()[-100:]
        assert source_bytes(daemon) <= MIB + 77
        file.seek(4 * MIB)
        file.read(10)
        assert source_bytes(daemon) <= 2 * MIB + 77
