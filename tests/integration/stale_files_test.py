"""Files that change without a new size or modification time. The daemon delivers no
stale bytes of them, and does not report equal bytes as an error."""

import io
import os
import pathlib
import shutil
import tarfile
import tempfile

import numpy
import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from trouble import CROP, contents, open_loader, run_until_error

SAMPLES = 48
CHANGED = "city/003.jpg"
CHANGED_ID = 19
SHARD_SAMPLES = 24


@pytest.fixture(params=["off", "auto"])
def daemon(request, tmp_path):
    """A daemon with room for all, with each of the two ways to read local files."""
    path = tmp_path / "forebayd.toml"
    path.write_text("cache.memory = '16MiB'\n"
                    f"storage.io_uring = '{request.param}'\n")
    with serving(tmp_path, "--config", str(path)) as started:
        yield started


@pytest.fixture(params=["disk", "memory"])
def place(request, tmp_path):
    """A folder on the disk's file system, or in tmpfs."""
    if request.param == "disk":
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def folder(place, photos):
    """A dataset that a test may change."""
    return shutil.copytree(photos, place / "data")


def like(path, content):
    """Pads `content` to the file's length. Decoders stop at the image's own end."""
    size = path.stat().st_size
    assert len(content) <= size
    return content.ljust(size, b"\0")


def set_time(path, like_path):
    stat = like_path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def renamed(path, content):
    """Replaces the file by another one of equal size and modification time."""
    other = path.with_name("replacement")
    other.write_bytes(like(path, content))
    set_time(other, path)
    os.replace(other, path)


def rewritten(path, content):
    """Overwrites the file in place, and restores its modification time."""
    before = path.with_name("before")
    before.write_bytes(b"")
    set_time(before, path)
    with open(path, "r+b") as file:
        file.write(like(path, content))
    set_time(path, before)
    before.unlink()


def chmodded(path):
    path.chmod(0o640)


def linked(path):
    os.link(path, path.with_name("backup"))


def set_to_its_own_time(path):
    set_time(path, path)


# The file always exists, because the daemon goes on reading.
def replaced_by_a_copy(path):
    aside = path.with_name("aside")
    shutil.copy2(path, aside)
    os.replace(aside, path)


def shorter_than(path, photos):
    """Returns the content and the number of a photograph that is shorter than the file
    at `path`."""
    size = path.stat().st_size
    for number, other in enumerate(sorted(photos.rglob("*.jpg"))):
        if other.stat().st_size < size:
            return other.read_bytes(), number
    raise AssertionError(f"{path} is the smallest")


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("change", [renamed, rewritten])
@pytest.mark.parametrize("crop", [T.CenterCrop(CROP), T.RandomCrop(CROP)])
def test_what_is_kept_of_a_file_goes_with_the_file(folder, photos, change,
                                                   crop):
    content, number = shorter_than(folder / CHANGED, photos)
    with open_loader(folder, transform=crop) as loader:
        before, _ = contents(loader)
        contents(loader)  # decoded variants are then cached
        change(folder / CHANGED, content)
        after, ids = contents(loader)
        kept, _ = contents(loader)
    assert ids == list(range(SAMPLES))
    assert (before[CHANGED_ID] != after[CHANGED_ID]).any()
    before[CHANGED_ID] = before[number]
    numpy.testing.assert_array_equal(after, before)
    numpy.testing.assert_array_equal(kept, before)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("touch", [
    chmodded, linked, set_to_its_own_time, replaced_by_a_copy])
def test_what_is_the_same_is_no_error_in_mid_epoch(folder, touch):
    with open_loader(folder) as loader:
        before, _ = contents(loader)
        batches = iter(loader)
        first, _ = contents([next(batches)])
        for path in sorted(folder.rglob("*.jpg")):
            touch(path)
            for name in ("backup", "aside"):
                path.with_name(name).unlink(missing_ok=True)
        rest, _ = contents(batches)
        again, _ = contents(loader)
    numpy.testing.assert_array_equal(numpy.concatenate([first, rest]), before)
    numpy.testing.assert_array_equal(again, before)


def write_shard(path, photos, order):
    """Writes members of equal size, so that another order changes nothing else."""
    pictures = sorted(photos.rglob("*.jpg"))
    longest = max(picture.stat().st_size for picture in pictures)
    with tarfile.open(path, "w") as tar:
        for number in order:
            content = pictures[number].read_bytes().ljust(longest, b"\0")
            for name, data in [(f"{number:06}.jpg", content),
                               (f"{number:06}.cls", str(number).encode())]:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


@pytest.fixture
def shard(place, photos):
    path = place / "a.tar"
    write_shard(path, photos, range(SHARD_SAMPLES))
    return path


def reordered(shard, photos):
    """Returns the shard's content with its samples in another order: it has the same
    length, but each sample is at another offset."""
    path = shard.with_name("reordered")
    order = list(range(SHARD_SAMPLES))
    # Labels of one and of two digits take the same space.
    write_shard(path, photos, order[1:] + order[:1])
    content = path.read_bytes()
    path.unlink()
    assert len(content) == shard.stat().st_size
    return content


def open_shard(path, **arguments):
    return forebay.DataLoader(
        path, **{"fields": ("jpg", "cls"), "batch_size": 4,
                 "framework": "numpy", "autostart": False,
                 "transform": T.CenterCrop(CROP), **arguments})


def read_shard(batches):
    images, labels = [], []
    for batch in batches:
        images.append(numpy.array(batch.jpg))
        labels.extend(int(i) for i in batch.cls)
    return numpy.concatenate(images), labels


ROTATED = [*range(1, SHARD_SAMPLES), 0]


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_shard_of_equal_size_and_time_is_indexed_anew(shard, photos, change):
    with open_shard(shard) as loader:
        before, labels = read_shard(loader)
        assert labels == list(range(SHARD_SAMPLES))
        change(shard, reordered(shard, photos))
        with open_shard(shard) as other:
            after, labels = read_shard(other)
    assert labels == ROTATED
    numpy.testing.assert_array_equal(after, before[ROTATED])


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("change", [renamed, rewritten])
def test_who_comes_later_shares_nothing_of_an_older_shard(shard, photos,
                                                          change):
    """Equal loaders share batches, but not if their indexes differ."""
    with open_shard(shard, fields=("jpg",)) as loader:
        before = numpy.concatenate([batch.jpg.copy() for batch in loader])
        next(iter(loader))
        change(shard, reordered(shard, photos))
        with open_shard(shard, fields=("jpg",)) as other:
            after = numpy.concatenate([batch.jpg.copy() for batch in other])
    numpy.testing.assert_array_equal(after, before[ROTATED])


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_shard_that_is_another_in_mid_epoch_is_an_error(shard, photos,
                                                          change):
    with open_shard(shard, shuffle=True, batch_size=2) as loader:
        read_shard(loader)
        batches = iter(loader)
        read_shard([next(batches)])
        change(shard, reordered(shard, photos))
        with pytest.raises(forebay.StateError, match="since the dataset was"):
            for epoch in range(2):
                read_shard(batches)
                batches = iter(loader)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_shard_that_is_touched_in_mid_epoch_is_no_error(shard, touch):
    with open_shard(shard, shuffle=True) as loader:
        before, labels = read_shard(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        first = read_shard([next(batches)])
        touch(shard)
        rest = read_shard(batches)
        loader.set_epoch(0)
        again, _ = read_shard(loader)
    assert first[1] + rest[1] == labels
    numpy.testing.assert_array_equal(
        numpy.concatenate([first[0], rest[0]]), before)
    numpy.testing.assert_array_equal(again, before)


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_shard_that_is_replaced_while_no_daemon_runs(tmp_path, shard, photos,
                                                       change):
    with serving(tmp_path) as daemon:
        with open_shard(shard) as loader:
            before, _ = read_shard(loader)
        daemon.stop()
        change(shard, reordered(shard, photos))
        daemon.start()
        with open_shard(shard) as loader:
            after, labels = read_shard(loader)
    assert labels == ROTATED
    numpy.testing.assert_array_equal(after, before[ROTATED])


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_manifest_of_equal_size_and_time_is_read_anew(folder, change):
    table = folder / "table.csv"
    rows = [f"{path.relative_to(folder)},{number % 10}\n" for number, path
            in enumerate(sorted(folder.rglob("*.jpg")))]
    table.write_text("".join(["path,label\n", *rows]))

    def open_table():
        return open_loader(
            forebay.manifest(table, image="path", label="label"))

    with open_table() as loader:
        before, _ = contents(loader)
        change(table, "".join(["path,label\n", *reversed(rows)]).encode())
        with open_table() as other:
            after, _ = contents(other)
    numpy.testing.assert_array_equal(after, before[::-1])


def test_an_image_that_was_edited_is_found_by_the_next_loader(daemon, folder):
    table = folder / "table.csv"
    names = sorted(str(path.relative_to(folder))
                   for path in folder.rglob("*.jpg"))
    table.write_text("".join(f"{name}\n" for name in ["path", *names]))

    def open_table():
        return open_loader(forebay.manifest(table, image="path"))

    with open_table() as loader:
        before, _ = contents(loader)
        content = (folder / names[0]).read_bytes()
        (folder / CHANGED).write_bytes(content + b"\0")
        with open_table() as other:
            after, ids = contents(other)
    assert ids == list(range(SAMPLES))
    before[CHANGED_ID] = before[0]
    numpy.testing.assert_array_equal(after, before)
    assert (f"{CHANGED} was changed in its place: table.csv is read anew"
            in daemon.log())


@pytest.mark.usefixtures("daemon")
def test_a_copy_of_equal_sizes_and_times_resumes(place, folder, shard):
    copies = shutil.copytree(folder, place / "copy"), place / "b.tar"
    shutil.copy2(shard, copies[1])
    with open_loader(folder) as loader, open_loader(copies[0]) as other:
        assert loader.dataset.version == other.dataset.version
        batches = iter(loader)
        contents([next(batches)])
        other.load_state_dict(loader.state_dict())
        assert contents(other)[1] == list(range(4, SAMPLES))
    os.replace(shard, place / "c.tar")
    with open_shard(place / "c.tar") as loader:
        batches = iter(loader)
        read_shard([next(batches)])
        state = loader.state_dict()
    os.replace(copies[1], place / "c.tar")
    with open_shard(place / "c.tar") as loader:
        loader.load_state_dict(state)
        assert read_shard(loader)[1] == list(range(4, SHARD_SAMPLES))


def edited(path, photos):
    """Writes a photograph of another length into a file. Returns its number."""
    other = sorted(photos.rglob("*.jpg"))[7]
    path.write_bytes(other.read_bytes() + b"\0")
    return 7


@pytest.mark.usefixtures("daemon")
def test_an_edit_before_the_first_batch_is_no_error(folder, photos, caplog):
    first = folder / "beach/000.jpg"
    with open_loader(folder) as loader:
        version = loader.dataset.version
        number = edited(first, photos)
        after, ids = contents(loader)
        assert ids == list(range(SAMPLES))
        numpy.testing.assert_array_equal(after[0], after[number])
        assert loader.dataset.version != version
        assert "beach/000.jpg: was replaced" in caplog.text
        assert caplog.text.count("the dataset is opened anew") == 1
        state = loader.state_dict()
        # The dataset is opened anew only once; the second change is an error.
        first.write_bytes(first.read_bytes() + b"\0")
        run_until_error(loader, forebay.StateError)
    with open_loader(folder) as loader:
        with pytest.raises(forebay.StateError, match="another version"):
            loader.load_state_dict(state)
        loader.load_state_dict(dict(state,
                                    dataset_version=loader.dataset.version))
        first.write_bytes(first.read_bytes() + b"\0")
        run_until_error(loader, forebay.StateError)


@pytest.mark.usefixtures("daemon")
def test_an_iterator_that_went_on_anew_goes_on_beside_another(folder, photos):
    with open_loader(folder) as loader:
        edited(folder / "beach/000.jpg", photos)
        first = iter(loader)
        next(first)
        second = iter(loader)
        assert len(list(first)) == len(loader) - 1
        assert len(list(second)) == len(loader)


@pytest.mark.usefixtures("daemon")
def test_an_edit_before_the_first_sample_is_no_error(folder, photos, caplog):
    dataset = forebay.Dataset(folder, autostart=False)
    version = dataset.version
    number = edited(folder / "beach/000.jpg", photos)
    numpy.testing.assert_array_equal(dataset[0][0], dataset[number][0])
    assert dataset.version != version
    assert caplog.text.count("the dataset is opened anew") == 1
    os.utime(folder / "beach/000.jpg")
    with pytest.raises(forebay.StateError, match="was replaced or changed"):
        dataset[0]


@pytest.mark.usefixtures("daemon")
def test_another_time_is_an_error_in_mid_epoch(folder):
    with open_loader(folder) as loader:
        contents(loader)
        os.utime(folder / CHANGED)
        text, _ = run_until_error(loader, forebay.StateError)
    assert "was replaced or changed" in text
