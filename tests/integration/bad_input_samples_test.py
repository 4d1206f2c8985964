"""Each unusable sample gives one clear error, to one job alone."""

import os
import pathlib
import shutil
import struct
import zlib

import numpy
import PIL.Image
import pytest

import forebay
from daemons import serving
from trouble import (contents, neighbour, open_loader, run_until_error,
                     settle)

SAMPLES = 48
BAD = "city/003.jpg"  # sample 19
BAD_ID = 19


@pytest.fixture(scope="module", autouse=True)
def powerless_daemon(tmp_path_factory):
    """A daemon that cannot read files against their modes, even if root runs it."""
    launcher = [] if os.geteuid() else [
        "setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    with serving(tmp_path_factory.mktemp("daemon"), launcher=launcher) as it:
        yield it


@pytest.fixture
def folder(tmp_path, photos):
    """A dataset that a test may spoil."""
    return shutil.copytree(photos, tmp_path / "data")


@pytest.fixture(autouse=True)
def undisturbed(powerless_daemon, photos):
    with neighbour(photos):
        yield


def empty(path):
    path.write_bytes(b"")


def truncate(path):
    path.write_bytes(path.read_bytes()[:-500])


def truncate_header(path):
    path.write_bytes(path.read_bytes()[:100])


def write_text(path):
    path.write_text("This is not a photograph.\n")


def write_noise(path):
    path.write_bytes(numpy.random.default_rng(5).bytes(4000))


def claim_60000_pixels_a_side(path):
    data = bytearray(path.read_bytes())
    frame = data.index(b"\xff\xc0")
    data[frame + 5:frame + 9] = struct.pack(">HH", 60000, 60000)
    path.write_bytes(data)


def claim_60000_pixels_a_side_as_png(path):
    PIL.Image.new("RGB", (8, 8)).save(path, format="png")
    data = bytearray(path.read_bytes())
    data[16:24] = struct.pack(">II", 60000, 60000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    path.write_bytes(data)


def make_fifo(path):
    path.unlink()
    os.mkfifo(path)


def forbid(path):
    path.chmod(0)


@pytest.mark.parametrize("spoil,error,reason", [
    (empty, forebay.DataError, "is an empty file"),
    (truncate, forebay.DataError, "is a truncated JPEG image"),
    (truncate_header, forebay.DataError, "JPEG"),
    (write_text, forebay.DataError,
     "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image but looks like text"),
    (write_noise, forebay.DataError,
     "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image"),
    (claim_60000_pixels_a_side, forebay.ResourceExhausted,
     "is 60000 x 60000 pixels, more than the limit of 178956970 pixels"),
    (claim_60000_pixels_a_side_as_png, forebay.ResourceExhausted,
     "is 60000 x 60000 pixels, more than the limit of 178956970 pixels"),
    (make_fifo, forebay.InvalidArgument, "is a FIFO, not a regular file"),
    (forbid, forebay.PermissionDenied, "the file system denies reading it"),
])
def test_one_bad_sample(folder, spoil, error, reason):
    spoil(folder / BAD)
    with open_loader(folder) as loader:
        for _ in range(2):
            text, before = run_until_error(loader, error)
            assert text.startswith(f"sample {BAD_ID} of {folder}: {BAD}: ")
            assert reason in text
            # No earlier batch is lost.
            assert before == list(range(BAD_ID // 4 * 4))
        # The loader is not lost either: it can give the later samples.
        state = dict(loader.state_dict(), position=BAD_ID + 1)
        loader.load_state_dict(state)
        assert contents(loader)[1] == list(range(BAD_ID + 1, SAMPLES))


def test_a_huge_sparse_file_is_named(folder):
    os.truncate(folder / BAD, 1 << 40)
    with pytest.raises(forebay.ResourceExhausted) as caught:
        open_loader(folder)
    text = str(caught.value)
    assert f"{folder}: {BAD}: " in text and "memory.limit" in text


def test_unreadable_class(folder):
    (folder / "city").chmod(0)
    try:
        with pytest.raises(forebay.PermissionDenied) as caught:
            open_loader(folder)
        assert str(caught.value) == (
            f"{folder}: city: the file system denies reading it")
    finally:
        (folder / "city").chmod(0o700)


# A file that is not read ahead before the first batch is taken.
LATE = "forest/012.jpg"
LATE_ID = 44


def spoil_in_mid_epoch(folder, change, error):
    """Calls `change(path)` in mid-epoch. Returns the text of the error."""
    with open_loader(folder, depth=1) as loader:
        iterator = iter(loader)
        ids = contents([next(iterator)])[1]
        change(folder / LATE)
        text, rest = run_until_error(iterator, error)
        assert ids + rest == list(range(LATE_ID))
    assert text.startswith(f"sample {LATE_ID} of {folder}: {LATE}: ")
    return text


def replace(path):
    other = path.with_name("000.jpg").read_bytes()
    path.unlink()
    path.write_bytes(other)


def test_deleted_in_mid_epoch(folder):
    text = spoil_in_mid_epoch(folder, pathlib.Path.unlink, forebay.NotFound)
    assert "no such file" in text
    with open_loader(folder) as loader:
        assert contents(loader)[1] == list(range(SAMPLES - 1))


def test_replaced_in_mid_epoch(folder):
    text = spoil_in_mid_epoch(folder, replace, forebay.StateError)
    assert "was replaced or changed since the dataset was indexed" in text
    with open_loader(folder) as loader:
        images, ids = contents(loader)
        assert ids == list(range(SAMPLES))
        numpy.testing.assert_array_equal(images[LATE_ID], images[32])


def test_repaired_file_is_read_by_the_next_loader(folder):
    whole = (folder / BAD).read_bytes()
    truncate(folder / BAD)
    with open_loader(folder) as loader:
        run_until_error(loader, forebay.DataError)
    (folder / "repaired").write_bytes(whole)
    os.replace(folder / "repaired", folder / BAD)
    with open_loader(folder) as loader:
        assert contents(loader)[1] == list(range(SAMPLES))


def test_file_repaired_in_place_is_noticed(shared_daemon, folder):
    """The folder does not show the repair. The daemon must notice it although it has an
    index."""
    whole = (folder / BAD).read_bytes()
    truncate(folder / BAD)
    settle(folder)
    with open_loader(folder) as loader:
        run_until_error(loader, forebay.DataError)
    (folder / BAD).write_bytes(whole)
    with open_loader(folder) as loader:
        assert contents(loader)[1] == list(range(SAMPLES))
    assert shared_daemon.log().count(
        f"{folder}: {BAD} was changed in its place: the index is built anew"
    ) == 1


def test_substitution_is_the_same_every_time_and_counted(folder):
    bad = {"beach/000.jpg": 0, "city/003.jpg": 19, "forest/015.jpg": 47}
    for name, spoil in zip(bad, (empty, truncate, write_text)):
        spoil(folder / name)
    runs = []
    for batch_size in (4, 4, 48):
        with open_loader(folder, shuffle=True, seed=3, batch_size=batch_size,
                         on_error="substitute") as loader:
            runs.append([contents(loader) for _ in range(2)])
            # A substitute may be corrupt itself. Then it is replaced, too.
            assert loader.stats()["samples_substituted"] >= 6
    with open_loader(folder, shuffle=True, seed=3) as plain:
        plain_orders = []
        for epoch in range(2):
            plain.set_epoch(epoch)
            plain_orders.append(run_until_error(plain, forebay.DataError)[1])
    for epoch in range(2):
        images, ids = runs[0][epoch]
        assert len(ids) == SAMPLES
        assert not set(ids) & set(bad.values())
        # All samples but the corrupt ones come, each at its position.
        assert set(ids) == set(range(SAMPLES)) - set(bad.values())
        begin = plain_orders[epoch]
        assert ids[:len(begin)] == begin
        for run in runs[1:]:
            assert run[epoch][1] == ids
            numpy.testing.assert_array_equal(run[epoch][0], images)


def test_substitutes_are_drawn_until_one_is_whole(shared_daemon, photos, tmp_path):
    """Corrupt samples that replaced one another used to come up again and again."""
    (tmp_path / "few" / "all").mkdir(parents=True)
    names = [tmp_path / "few" / "all" / f"{number}.jpg" for number in range(3)]
    for path in names:
        path.write_bytes((photos / BAD).read_bytes())
    truncate(names[1])
    for seed in range(40):
        with open_loader(tmp_path / "few", shuffle=True, seed=seed, batch_size=3,
                         on_error="substitute") as loader:
            assert set(contents(loader)[1]) == {0, 2}


def test_deleted_files_are_not_substituted(folder):
    with open_loader(folder, depth=1, on_error="substitute") as loader:
        iterator = iter(loader)
        next(iterator)
        (folder / LATE).unlink()
        text, _ = run_until_error(iterator, forebay.NotFound)
        assert loader.stats()["samples_substituted"] == 0
    assert text.startswith(f"sample {LATE_ID} of {folder}: {LATE}: ")


def test_nothing_to_substitute_with(folder):
    for path in folder.rglob("*.jpg"):
        truncate(path)
    with open_loader(folder, on_error="substitute") as loader:
        text, before = run_until_error(loader, forebay.DataError)
    assert before == [] and "is a truncated JPEG image" in text


def test_refused_where_it_would_vary_in_size(folder):
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_loader(folder, transform=None)
    assert "Resize" in str(caught.value) or "Crop" in str(caught.value)
