"""Archives that are damaged, that change meanwhile, or whose content is larger than the
memory for it."""

import io
import zipfile

import numpy
import PIL.Image
import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from stale_files_test import (chmodded, linked, renamed, rewritten,
                              set_to_its_own_time)
from trouble import CROP, contents, neighbour, open_loader, run_until_error, spoil
from zip_test import DEFLATED, SAMPLES, STORED, members_of, pack


def png(shape=(*CROP, 3), seed=0):
    file = io.BytesIO()
    numbers = numpy.random.RandomState(seed).randint(0, 256, shape)
    PIL.Image.fromarray(numbers.astype("uint8")).save(file, "PNG")
    return file.getvalue()


def refusal(error, path, **arguments):
    with pytest.raises(error) as caught:
        with open_loader(path, **arguments) as loader:
            list(loader)
    return str(caught.value)


@pytest.fixture
def good(tmp_path):
    return pack(tmp_path / "a.zip", [
        ("cat/0.png", png(seed=0), STORED), ("cat/1.png", png(seed=1), DEFLATED),
        ("dog/2.png", png(seed=2), STORED)])


def data_of(path, name):
    """Returns the offset and the length of a member's data."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(name)
    return info.header_offset + 30 + len(name), info.compress_size


@pytest.mark.usefixtures("shared_daemon")
def test_what_is_no_archive_is_refused(good):
    content = good.read_bytes()
    for size in (len(content) - 1, len(content) // 2, 100):
        good.write_bytes(content[:size])
        assert refusal(forebay.DataError, good).startswith(
            f"{good.parent}: a.zip: at byte ")
    for start in (b"", b"PK"):
        good.write_bytes(start)
        assert refusal(forebay.DataError, good) == (
            f"{good.parent}: a.zip: is not a zip archive: it has only {len(start)} "
            "bytes")
    good.unlink()
    assert refusal(forebay.NotFound, good).startswith(f"{good.parent}: a.zip: ")
    assert refusal(forebay.NotFound, f"{good}/train").startswith(
        f"{good.parent}: a.zip: ")


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("number", [0, 1])
def test_a_damaged_image_is_named(good, photos, number):
    name = f"cat/{number}.png"
    offset, length = data_of(good, name)
    # The damage lies after the pixels, where PIL would not notice it.
    spoil(good, offset + length - 3, 0xFF)
    with neighbour(photos):
        text = refusal(forebay.DataError, good)
    assert text.startswith(f"sample {number} ({name}) of {good.parent}: a.zip: "
                           "image: ")
    assert "damaged" in text
    with open_loader(good, on_error="substitute") as loader:
        assert len(contents(loader)[1]) == 3
        assert loader.stats()["samples_substituted"] == 1
    dataset = forebay.Dataset(good, autostart=False)
    assert dataset[2][1] == 1
    with pytest.raises(forebay.DataError, match=name):
        dataset[number]


@pytest.mark.usefixtures("shared_daemon")
def test_a_header_that_is_not_the_directorys_is_noticed(good):
    offset, _ = data_of(good, "cat/1.png")
    spoil(good, offset - 1, 0xFF)
    assert refusal(forebay.DataError, good).endswith(
        "the member's header has another name than the directory")


@pytest.mark.usefixtures("shared_daemon")
def test_members_that_cannot_be_read_are_refused_by_name(tmp_path):
    path = tmp_path / "a.zip"
    for method, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
        pack(path, [("cat/1.png", png())], method)
        assert refusal(forebay.Unsupported, path).endswith(
            f"the file cat/1.png is compressed by {name}, which is not supported")


@pytest.mark.usefixtures("shared_daemon")
def test_any_name_leaves_the_message_whole(tmp_path):
    """Names in error messages: a NUL once ended such a name early, and a long name left
    no space for the reason."""
    path = pack(tmp_path / "a.zip", [("cat/1_\n.png", png())])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"1_", b"1\0"))
    assert refusal(forebay.DataError, path).endswith(
        "the file cat/1\\x00\\x0a.png has a NUL in its name")
    path.write_bytes(content.replace(b"1_", b"2_", 1))
    assert refusal(forebay.DataError, path).startswith(
        f"sample 0 (cat/1_\\x0a.png) of {tmp_path}: a.zip: image: ")
    long = f"cat/{'x' * 60_000}.png"
    spoil(pack(path, [(long, png())], STORED), 30 + len(long) + 100, 0xFF)
    text = refusal(forebay.DataError, path)
    assert text.startswith(f"sample 0 ({long[:256]}...) of {tmp_path}: a.zip: image: ")
    assert "is damaged: its CRC-32 is" in text


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("name", ["./cat/1.png", "../cat/1.png", "cat/../dog/1.png",
                                  "cat//1.png"])
def test_paths_that_mean_other_folders_make_no_class(tmp_path, name):
    path = pack(tmp_path / "a.zip", [(name, png()), ("cat/2.png", png())])
    assert refusal(forebay.Unsupported, path) == (
        f"{path}: the image {name} has a path that is not read, with a part "
        "that is empty, . or ..")


def zeros(path, size, **arguments):
    """Writes an archive of an image, and of another one that compresses to a
    thousandth."""
    return pack(path, [("cat/0.png", png()), ("cat/1.png", png() + bytes(size))],
                **arguments)


def test_what_inflates_to_too_much_is_refused(tmp_path, photos):
    size = 200 << 20
    path = zeros(tmp_path / "a.zip", size, compresslevel=9)
    assert path.stat().st_size * 500 < size
    config = tmp_path / "forebayd.toml"
    config.write_text("[memory]\nlimit = '192MiB'\n")
    with serving(tmp_path, "--config", str(config)) as daemon, neighbour(photos):
        for _ in range(2):
            text = refusal(forebay.ResourceExhausted, path)
            assert text.startswith(f"sample 1 (cat/1.png) of {tmp_path}: a.zip: "
                                   "image: decompressing needs ")
            assert "image.scratch_limit" in text
        dataset = forebay.Dataset(path, autostart=False, decode=False)
        assert bytes(dataset[0][0]) == png()
        with pytest.raises(forebay.ResourceExhausted, match="decompressing a sample"):
            dataset[1]
        peak = int(next(
            line for line in open(f"/proc/{daemon.process.pid}/status")
            if line.startswith("VmHWM")).split()[1])
        assert peak < 192 << 10


@pytest.mark.usefixtures("shared_daemon")
def test_what_inflates_a_lot_is_an_image_all_the_same(tmp_path):
    """Bytes after a PNG's end do no harm."""
    path = zeros(tmp_path / "a.zip", 20 << 20)
    dataset = forebay.Dataset(f"{tmp_path}/a.zip", autostart=False, decode=False)
    assert bytes(dataset[1][0]) == png() + bytes(20 << 20)
    with open_loader(path) as loader:
        images, _ = contents(loader)
    numpy.testing.assert_array_equal(images[0], images[1])


def with_other_content(path, content):
    """Returns an archive of equal length, whose first member has `content`."""
    with zipfile.ZipFile(path) as archive:
        members = [(info.filename, archive.read(info), info.compress_type)
                   for info in archive.infolist()]
    name, before, method = members[0]
    assert method == STORED and len(content) <= len(before)
    other = path.with_name("other")
    pack(other, [(name, content.ljust(len(before), b"\0"), method), *members[1:]])
    assert other.stat().st_size == path.stat().st_size
    return other.read_bytes()


@pytest.fixture
def photo_archive(tmp_path, photos):
    """An archive of photographs, the first of which is the largest, and another
    photograph."""
    members = sorted(members_of(photos)[:SAMPLES], key=lambda m: -len(m[1]))
    members[0] = (*members[0][:2], STORED)
    return pack(tmp_path / "a.zip", members), members[-1][1]


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("change", [renamed, rewritten])
def test_an_archive_of_equal_size_and_time_is_read_anew(photo_archive, change):
    path, other = photo_archive
    with open_loader(path) as loader:
        before, _ = contents(loader)
        contents(loader)
        change(path, with_other_content(path, other))
        with open_loader(path) as later:
            after, _ = contents(later)
        changed = (before != after).any(axis=(1, 2, 3))
        assert changed.sum() == 1
        with pytest.raises(forebay.StateError):
            contents(loader)


@pytest.mark.usefixtures("shared_daemon")
def test_data_that_is_written_over_is_damage(photo_archive):
    """The directory stays the same, so that only the CRC shows the change."""
    path, other = photo_archive
    with open_loader(path) as loader:
        contents(loader)
        with zipfile.ZipFile(path) as archive:
            first = archive.infolist()[0]
        content = bytearray(path.read_bytes())
        begin, length = data_of(path, first.filename)
        content[begin:begin + length] = other.ljust(length, b"\0")
        rewritten(path, bytes(content))
        with pytest.raises(forebay.DataError) as caught:
            contents(loader)
    assert f"({first.filename})" in str(caught.value)
    assert "is damaged: its CRC-32 is " in str(caught.value)


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_an_archive_that_is_touched_in_mid_epoch_is_no_error(photo_archive, touch):
    path, _ = photo_archive
    with open_loader(path, shuffle=True) as loader:
        images, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        first = contents([next(batches)])
        touch(path)
        rest = contents(batches)
    assert first[1] + rest[1] == ids
    numpy.testing.assert_array_equal(numpy.concatenate([first[0], rest[0]]), images)


@pytest.mark.usefixtures("shared_daemon")
def test_an_archive_that_is_replaced_in_mid_epoch_is_an_error(tmp_path):
    path = pack(tmp_path / "a.zip",
                [(f"cat/{number}.png", png(seed=number)) for number in range(200)])
    with open_loader(path, shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        pack(path, [("cat/0.png", png())])
        text, _ = run_until_error(batches, forebay.StateError)
        assert str(tmp_path) in text and "a.zip" in text
    with open_loader(path) as loader:
        assert len(loader.dataset) == 1


@pytest.mark.usefixtures("shared_daemon")
def test_an_archive_that_is_replaced_before_the_first_batch_is_opened_anew(tmp_path):
    path = pack(tmp_path / "a.zip", [("cat/0.png", png(seed=1))])
    with open_loader(path) as loader:
        pack(path, [("cat/0.png", png(seed=2))])
        images, _ = contents(loader)
    expected = numpy.asarray(PIL.Image.open(io.BytesIO(png(seed=2))))
    numpy.testing.assert_array_equal(images[0].transpose(1, 2, 0), expected)


@pytest.mark.usefixtures("shared_daemon")
def test_a_random_pipeline_of_packed_images_goes_on_from_the_cache(photo_archive):
    path, _ = photo_archive
    with open_loader(path, transform=T.RandomCrop(CROP)) as loader:
        for _ in range(4):
            assert contents(loader)[1] == list(range(SAMPLES))
