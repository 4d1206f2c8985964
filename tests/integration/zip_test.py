"""Images in zip archives, from the archives to a trainer's batches. The expected values
come from zipfile, PIL, and torchvision's ImageFolder of the extracted tree."""

import io
import itertools
import random
import subprocess
import zipfile

import numpy
import PIL.Image
import pytest
import torchvision

import forebay
from forebay import transforms as T
from trouble import CROP, contents, ctl, open_loader

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
SAMPLES = 48


def pack(path, members, method=DEFLATED, **arguments):
    """Writes an archive of (name, bytes), or (name, bytes, method)."""
    with zipfile.ZipFile(path, "w", method, **arguments) as archive:
        for name, content, *own in members:
            archive.writestr(name, content, *own)
    return path


def members_of(photos, prefix=""):
    """Returns the photographs in random order, among files that are not photographs."""
    found = [(f"{prefix}{path.relative_to(photos)}", path.read_bytes(),
              chance) for path, chance in zip(
                  sorted(photos.rglob("*.jpg")), itertools.cycle((STORED, DEFLATED)))]
    random.Random(1).shuffle(found)
    return found + [(prefix + "city/notes.txt", b"no image"), ("LICENSE", b"mine")]


@pytest.fixture(scope="module")
def archive(tmp_path_factory, photos):
    return pack(tmp_path_factory.mktemp("zip") / "train.zip", members_of(photos))


def unpacked(archive, folder):
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return torchvision.datasets.ImageFolder(str(folder))


def labels_of(loader):
    return [int(label) for batch in loader for label in batch.label]


def expect_like_image_folder(archive, folder, uri=None):
    """Checks that the order, labels, classes and bytes are those of ImageFolder."""
    expected = unpacked(archive, folder)
    dataset = forebay.Dataset(uri or archive, decode=False, autostart=False)
    assert dataset.classes == expected.classes
    assert len(dataset) == len(expected)
    for sample, (path, label) in zip(dataset, expected.samples):
        with open(path, "rb") as file:
            assert bytes(sample[0]) == file.read()
        assert int(sample[1]) == label


@pytest.mark.usefixtures("shared_daemon")
def test_samples_are_those_of_the_unpacked_tree(archive, tmp_path):
    expect_like_image_folder(archive, tmp_path / "tree")


def pack_in_dos(path, members):
    """Writes an archive as .NET does on Windows, with backslashes in paths."""
    with zipfile.ZipFile(path, "w", DEFLATED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name.replace("/", "\\"))
            info.create_system = 0
            archive.writestr(info, content, DEFLATED)
    return path


@pytest.mark.usefixtures("shared_daemon")
def test_backslashes_of_windows_are_slashes(photos, tmp_path):
    members = [(str(path.relative_to(photos)), path.read_bytes())
               for path in sorted(photos.rglob("*.jpg"))]
    path = pack_in_dos(tmp_path / "a.zip", [("city/", b""), *members])
    expected = torchvision.datasets.ImageFolder(str(photos))
    dataset = forebay.Dataset(path, decode=False, autostart=False)
    assert dataset.classes == expected.classes and len(dataset) == len(expected)
    for sample, (name, label) in zip(dataset, expected.samples):
        with open(name, "rb") as file:
            assert bytes(sample[0]) == file.read()
        assert int(sample[1]) == label
    inner = pack_in_dos(tmp_path / "b.zip", [("all/x/" + name, content)
                                             for name, content in members])
    assert len(forebay.Dataset(f"{inner}/all/x", autostart=False)) == len(expected)
    found = forebay.inspect(inner, autostart=False)
    assert (found.format, found.uri) == ("zip", f"{inner}/all/x")


@pytest.mark.usefixtures("shared_daemon")
def test_backslashes_of_other_systems_are_parts_of_names(photos, tmp_path):
    content = next(photos.rglob("*.jpg")).read_bytes()
    path = pack(tmp_path / "a.zip", [("cat/a\\b.jpg", content), ("d\\e.jpg", content)])
    dataset = forebay.Dataset(path, autostart=False)
    assert dataset.classes == ["cat"] and len(dataset) == 1


@pytest.mark.usefixtures("shared_daemon")
def test_names_may_begin_with_a_dot(photos, tmp_path):
    """bsdtar writes such names."""
    path = pack(tmp_path / "a.zip", [("./", b"")] + [
        (f"./{path.relative_to(photos)}", path.read_bytes())
        for path in photos.rglob("*.jpg")])
    expect_like_image_folder(path, tmp_path / "tree")


@pytest.mark.usefixtures("shared_daemon")
def test_batches_are_those_of_the_folder(archive, photos):
    with open_loader(photos) as folder, open_loader(archive) as packed:
        images, ids = contents(folder)
        found, found_ids = contents(packed)
        assert found_ids == ids == list(range(SAMPLES))
        numpy.testing.assert_array_equal(found, images)
        assert labels_of(packed) == labels_of(folder)
        assert packed.dataset.classes == folder.dataset.classes
        assert packed.dataset.uri == str(archive)


@pytest.mark.usefixtures("shared_daemon")
def test_pixels_are_those_of_pil(tmp_path):
    rng = numpy.random.RandomState(2)
    members = []
    for number in range(6):
        file = io.BytesIO()
        PIL.Image.fromarray(rng.randint(0, 256, (9, 7, 3)).astype("uint8")).save(
            file, ("PNG", "PPM", "BMP")[number % 3] if number % 3 == 0 else "PNG")
        members.append((f"c{number % 2}/{number}.png", file.getvalue()))
    path = pack(tmp_path / "a.zip", members)
    with zipfile.ZipFile(path) as opened:
        expected = [numpy.asarray(PIL.Image.open(opened.open(name)).convert("RGB"))
                    for name in sorted(opened.namelist())]
    with open_loader(path, transform=T.CenterCrop((9, 7))) as loader:
        images, _ = contents(loader)
    numpy.testing.assert_array_equal(images.transpose(0, 2, 3, 1), expected)
    dataset = forebay.Dataset(path, autostart=False)
    for (image, _), array in zip(dataset, expected):
        numpy.testing.assert_array_equal(numpy.asarray(image), array)


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"shuffle": "block"},
    {"shuffle": True, "order": "coordinated"}])
def test_each_image_comes_once_in_any_order(archive, photos, options):
    with open_loader(photos) as folder:
        expected, _ = contents(folder)
    with open_loader(archive, seed=2, **options) as loader:
        orders = []
        for _ in range(3):
            images, ids = contents(loader)
            assert sorted(ids) == list(range(SAMPLES))
            numpy.testing.assert_array_equal(images, expected[ids])
            orders.append(ids)
    assert orders[0] != orders[1]


@pytest.mark.usefixtures("shared_daemon")
def test_cached_variants_change_no_pixel(archive, photos):
    crop = T.Compose([T.Resize(64), T.RandomCrop(48), T.ToImage()])
    with open_loader(photos, transform=crop, shuffle=True, seed=1) as folder, \
            open_loader(archive, transform=crop, shuffle=True, seed=1) as packed:
        for _ in range(4):
            one, other = contents(folder), contents(packed)
            assert one[1] == other[1]
            numpy.testing.assert_array_equal(one[0], other[0])


@pytest.mark.usefixtures("shared_daemon")
def test_a_folder_in_an_archive(photos, tmp_path):
    path = pack(tmp_path / "all.zip", [
        *members_of(photos, "all/train/"), ("all/val/x/1.jpg", b"not opened")])
    for uri in (f"{path}/all/train", f"{path}/all/train/", f"file://{path}/all/train"):
        with open_loader(uri) as loader:
            assert len(loader.dataset) == SAMPLES
            assert loader.dataset.classes == sorted(p.name for p in photos.iterdir())
    with open_loader(photos) as folder, open_loader(f"{path}/all/train") as packed:
        numpy.testing.assert_array_equal(contents(packed)[0], contents(folder)[0])
    with pytest.raises(forebay.NotFound) as caught:
        open_loader(f"{path}/all/test")
    assert str(caught.value) == (f"{path}/all/test: there is no such folder in the "
                                 "archive, or nothing in it")


def test_a_folder_too_high_is_warned_of(daemon, photos, tmp_path):
    path = pack(tmp_path / "all.zip", members_of(photos, "all/train/"))
    with open_loader(path) as loader:
        assert loader.dataset.classes == ["all"]
    assert (f"{path}: its images are all of one class, because they lie below one "
            "folder; if the folders in that are the classes, pass "
            f"{path}/all/train") in daemon.log()


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("pattern", ["{0..2}.zip", "*.zip", "{0.zip,1.zip,2.zip}"])
def test_archives_are_one_tree(photos, tmp_path, pattern):
    members = members_of(photos, "train/")
    for number in range(3):
        pack(tmp_path / f"{number}.zip", members[number::3])
    for _ in range(2):
        with open_loader(photos) as folder, \
                open_loader(f"{tmp_path}/{pattern}/train") as packed:
            numpy.testing.assert_array_equal(contents(packed)[0],
                                             contents(folder)[0])
    pack(tmp_path / "1.zip", [*members[1::3], members[3]])
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_loader(f"{tmp_path}/{pattern}/train")
    assert f"0.zip and 1.zip both have {members[3][0]}: " in str(caught.value)


@pytest.mark.usefixtures("shared_daemon")
def test_names_are_taken_by_their_bytes(photos, tmp_path):
    jpeg = next(photos.rglob("*.jpg")).read_bytes()
    names = ["zebra/1.jpg", "\u00e9t\u00e9/\u96ea.jpg", "\u00e9t\u00e9/a.JPG",
             "\U0001f431/1.jpg", "\ufffd/1.jpg", "cat/b c.jpg"]
    path = pack(tmp_path / "names.zip", [(name, jpeg) for name in names])
    expect_like_image_folder(path, tmp_path / "tree")
    # Old programs write names in code page 437, without the flag for UTF-8.
    old = path.read_bytes().replace("\u00e9t\u00e9".encode(), b"\x82-t-\x82")
    (tmp_path / "old.zip").write_bytes(old)
    with open_loader(tmp_path / "old.zip") as loader:
        assert [name.encode(errors="surrogateescape")
                for name in loader.dataset.classes] == [
                    b"cat", b"zebra", b"\x82-t-\x82", "\ufffd".encode(),
                    "\U0001f431".encode()]
        assert len(contents(loader)[1]) == len(names)


@pytest.mark.usefixtures("shared_daemon")
def test_archives_of_info_zip(photos, tmp_path):
    subprocess.run(["zip", "-q", "-r", tmp_path / "zip.zip", "."], cwd=photos,
                   check=True)
    expect_like_image_folder(tmp_path / "zip.zip", tmp_path / "tree")


@pytest.mark.usefixtures("shared_daemon")
def test_one_image_and_none(photos, tmp_path):
    jpeg = next(photos.rglob("*.jpg")).read_bytes()
    path = pack(tmp_path / "a.zip", [("cat/1.jpg", jpeg)])
    with open_loader(path) as loader:
        assert contents(loader)[1] == [0]
    for members in ([], [("1.jpg", jpeg)]):
        with pytest.raises(forebay.NotFound) as caught:
            open_loader(pack(path, members))
        assert str(caught.value) == f"{path}: found no class folder in it"


def test_an_epoch_goes_on_where_it_was_left(daemon, archive):
    with open_loader(archive, shuffle=True, seed=5) as loader:
        images, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        contents([next(batches), next(batches)])
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        rest = contents(batches)
        assert rest[1] == ids[8:]
        numpy.testing.assert_array_equal(rest[0], images[8:])
    with open_loader(archive, shuffle=True, seed=5, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert contents(loader)[1] == ids[8:]


def test_two_jobs_read_each_image_once(daemon, archive, monkeypatch):
    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    before = read_from_disk()
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_loader(archive, shuffle=True, seed=seed) as loader:
            assert sorted(contents(loader)[1]) == list(range(SAMPLES))
        if seed == 1:
            assert read_from_disk() > before
            before = read_from_disk()
    assert read_from_disk() == before


@pytest.mark.usefixtures("shared_daemon")
def test_ranks_share_the_images(archive):
    seen = []
    for rank in range(3):
        with open_loader(archive, shuffle=True, rank=rank, world_size=3,
                         pad="none", transform=T.CenterCrop(CROP)) as loader:
            seen += contents(loader)[1]
    assert sorted(seen) == list(range(SAMPLES))


def test_the_index_is_kept(daemon, archive):
    def indexes():
        return sorted((path, path.stat().st_mtime_ns)
                      for path in daemon.runtime_dir.parent.rglob("*.zips"))

    with open_loader(archive) as loader:
        before = contents(loader)
    kept = indexes()
    daemon.stop()
    daemon.start()
    with open_loader(archive) as loader:
        numpy.testing.assert_array_equal(contents(loader)[0], before[0])
    assert indexes() == kept


@pytest.mark.usefixtures("shared_daemon")
def test_a_folder_may_have_such_a_name(photos, tmp_path):
    (tmp_path / "odd.zip").symlink_to(photos)
    with open_loader(tmp_path / "odd.zip") as loader:
        assert len(loader.dataset) == SAMPLES
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_loader(tmp_path / "none.zip", fields=("jpg",))
    assert str(caught.value) == (
        "fields are of tar shards; samples of zip archives have the fields "
        '"image" and "label"')
