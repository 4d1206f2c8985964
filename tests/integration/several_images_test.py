"""Samples with several images."""

import contextlib
import io
import tarfile

import h5py
import numpy
import PIL.Image
import pytest

import forebay
from forebay import transforms as T
from mds_test import write_shard
from tfrecord_test import write

COUNT = 24


def photo(number, size=(80, 60), of="left"):
    random = numpy.random.default_rng([number, of == "left"])
    small = random.integers(0, 256, (6, 8, 3), "uint8")
    return PIL.Image.fromarray(small).resize(size, PIL.Image.BILINEAR)


def encoded(image, form):
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def part(number, content):
    """Returns the bytes of a field of a protobuf message."""
    length, size = len(content), b""
    while length > 127:
        size += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + content


def example(**features):
    """Returns a tf.train.Example with lists of one value."""
    return part(1, b"".join(
        part(1, part(1, name.encode()) + part(2, part(1, part(1, value))))
        for name, value in features.items()))


def write_pairs(path, count=COUNT, size=(80, 60), same=False):
    with tarfile.open(path, "w") as tar:
        for number in range(count):
            left = photo(number, size)
            right = left if same else photo(number, size, "right")
            for suffix, content in (("left.png", encoded(left, "PNG")),
                                    ("right.png", encoded(right, "PNG")),
                                    ("cls", str(number).encode())):
                info = tarfile.TarInfo(f"{number:04}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


@contextlib.contextmanager
def open_pairs(path, fields=("left.png", "right.png", "cls"), **more):
    more.setdefault("framework", "numpy")
    more.setdefault("batch_size", 8)
    with forebay.DataLoader(path, fields=fields, **more) as loader:
        yield loader


def centre(image, height, width):
    """Returns what torchvision's CenterCrop makes: (3, height, width)."""
    pixels = numpy.asarray(image)
    top = int(round((pixels.shape[0] - height) / 2))
    left = int(round((pixels.shape[1] - width) / 2))
    return pixels[top:top + height, left:left + width].transpose(2, 0, 1)


def test_each_image_is_its_own(shared_daemon, tmp_path):
    path = write_pairs(tmp_path / "a.tar")
    with open_pairs(path, transform=T.CenterCrop((40, 50)), shuffle=True) as loader:
        for _ in range(2):  # the second image may come from the cached, decoded one
            for batch in loader:
                for row, number in enumerate(batch.sample_ids):
                    numpy.testing.assert_array_equal(
                        batch.left_png[row], centre(photo(number), 40, 50))
                    numpy.testing.assert_array_equal(
                        batch.right_png[row],
                        centre(photo(number, of="right"), 40, 50))
                    assert batch.cls[row] == number


def test_all_have_the_same_draws(shared_daemon, tmp_path):
    path = write_pairs(tmp_path / "a.tar", same=True)
    transform = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(),
                           T.ColorJitter(0.4, 0.4, 0.4)])
    with open_pairs(path, transform=transform) as loader:
        batches = list(loader)
    for batch in batches:
        numpy.testing.assert_array_equal(batch.left_png, batch.right_png)
    assert len({row.tobytes() for batch in batches for row in batch.left_png}) == COUNT


def test_each_may_have_its_own_transform(shared_daemon, tmp_path):
    path = write_pairs(tmp_path / "a.tar")
    own = {"left.png": T.Compose([T.CenterCrop(20), T.ToDtype("float32", scale=True)]),
           "right.png": T.CenterCrop((10, 30))}
    with open_pairs(path, transform=own) as loader:
        batch = next(iter(loader))
    assert batch.left_png.dtype == numpy.float32
    assert batch.left_png.shape == (8, 3, 20, 20)
    assert batch.right_png.shape == (8, 3, 10, 30)
    numpy.testing.assert_allclose(
        batch.left_png[3], centre(photo(3), 20, 20).astype("float32") / 255)
    numpy.testing.assert_array_equal(
        batch.right_png[3], centre(photo(3, of="right"), 10, 30))
    # The order of the fields makes no difference.
    with open_pairs(path, ("right.png", "left.png"), transform=own) as loader:
        swapped = next(iter(loader))
    numpy.testing.assert_array_equal(swapped.right_png, batch.right_png)
    numpy.testing.assert_array_equal(swapped.left_png, batch.left_png)


def test_torchvision_pipelines_are_translated(shared_daemon, tmp_path):
    from torchvision import transforms
    path = write_pairs(tmp_path / "a.tar")
    own = {"left.png": transforms.CenterCrop(20), "right.png": transforms.Compose(
        [transforms.CenterCrop(24), transforms.ToTensor()])}
    with open_pairs(path, transform=own) as loader:
        batch = next(iter(loader))
    wanted = centre(photo(5, of="right"), 24, 24).astype("float32") / 255
    numpy.testing.assert_allclose(batch.right_png[5], wanted, atol=1e-6)
    own["right.png"] = transforms.Compose(
        [transforms.CenterCrop(24), transforms.RandomErasing()])
    with pytest.raises(forebay.errors.Unsupported, match="only the first image's may"):
        with open_pairs(path, transform=own):
            pass


def test_records_have_several_too(shared_daemon, tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, [example(l=encoded(photo(i), "PNG"),
                         r=encoded(photo(i, of="right"), "PNG")) for i in range(5)])
    data = forebay.tfrecord(path, fields={"l": "png", "r": "png"})
    with forebay.DataLoader(data, batch_size=5, framework="numpy",
                            transform={"l": T.CenterCrop(10),
                                       "r": T.CenterCrop(12)}) as loader:
        batch, = loader
    numpy.testing.assert_array_equal(batch.l[4], centre(photo(4), 10, 10))
    numpy.testing.assert_array_equal(batch.r[4],
                                     centre(photo(4, of="right"), 12, 12))


def test_hdf5_files_have_several_too(shared_daemon, tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name in ("left", "right"):
            photos = file.create_dataset(name, (5,), h5py.vlen_dtype("uint8"))
            for i in range(5):
                photos[i] = numpy.frombuffer(encoded(photo(i, of=name), "PNG"),
                                             numpy.uint8)
    data = forebay.hdf5(path, fields={"left": "png", "right": "png"})
    with forebay.DataLoader(data, batch_size=5, framework="numpy",
                            transform={"left": T.CenterCrop(10),
                                       "right": T.CenterCrop(12)}) as loader:
        batch, = loader
    numpy.testing.assert_array_equal(batch.left[4], centre(photo(4), 10, 10))
    numpy.testing.assert_array_equal(batch.right[4],
                                     centre(photo(4, of="right"), 12, 12))


def test_mds_shards_have_several_that_are_named(shared_daemon, tmp_path):
    path = write_shard(tmp_path / "a.mds", [("left", "png"), ("right", "png")],
                       [encoded(photo(4, of=one), "PNG")
                        for one in ("left", "right")])
    with forebay.DataLoader(path, fields=("left", "right"), framework="numpy",
                            transform={"left": T.CenterCrop(10),
                                       "right": T.CenterCrop(12)}) as loader:
        batch, = loader
    numpy.testing.assert_array_equal(batch.left[0], centre(photo(4), 10, 10))
    numpy.testing.assert_array_equal(batch.right[0],
                                     centre(photo(4, of="right"), 12, 12))
    with forebay.DataLoader(path, framework="numpy",
                            transform=T.CenterCrop(10)) as loader:
        assert isinstance(next(iter(loader)).right[0], bytes)


def invert(image):
    return 255 - image


def test_python_ops_are_for_the_images_of_their_transform(shared_daemon, tmp_path):
    from torchvision import transforms
    path = write_pairs(tmp_path / "a.tar")
    inverts = transforms.Compose([transforms.CenterCrop(20), transforms.PILToTensor(),
                                  transforms.Lambda(invert)])
    left = centre(photo(3), 20, 20)
    right = centre(photo(3, of="right"), 20, 20)
    for fields in (("left.png", "right.png"), ("right.png", "left.png")):
        with pytest.warns(UserWarning, match="Lambda"), open_pairs(
                path, fields, framework="torch", transform=inverts) as loader:
            batch = next(iter(loader))
        numpy.testing.assert_array_equal(batch.left_png[3], 255 - left)
        numpy.testing.assert_array_equal(batch.right_png[3], 255 - right)
    own = {"left.png": inverts, "right.png": T.CenterCrop(20)}
    with pytest.warns(UserWarning, match="Lambda"), open_pairs(
            path, framework="torch", transform=own) as loader:
        batch = next(iter(loader))
    numpy.testing.assert_array_equal(batch.left_png[3], 255 - left)
    numpy.testing.assert_array_equal(batch.right_png[3], right)


@pytest.mark.parametrize("name, other", [("left", "right"), ("right", "left")])
def test_a_transform_is_for_the_image_that_it_names(shared_daemon, tmp_path, name,
                                                    other):
    """Only the shard tells which columns are images."""
    path = write_shard(tmp_path / "a.mds", [("left", "png"), ("right", "png")],
                       [encoded(photo(4, of=one), "PNG") for one in ("left", "right")])
    with forebay.DataLoader(path, fields=("left", "right"), framework="numpy",
                            transform={name: T.CenterCrop(12), other: T.CenterCrop(20)}
                            ) as loader:
        batch, = loader
    numpy.testing.assert_array_equal(getattr(batch, name)[0],
                                     centre(photo(4, of=name), 12, 12))
    numpy.testing.assert_array_equal(getattr(batch, other)[0],
                                     centre(photo(4, of=other), 20, 20))
    with pytest.raises(forebay.errors.InvalidArgument, match="images may differ"):
        with forebay.DataLoader(path, fields=("left", "right"), framework="numpy",
                                transform={name: T.CenterCrop(12)}):
            pass


def test_only_the_first_image_is_guessed(shared_daemon, tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name in ("left", "right"):
            photos = file.create_dataset(name, (5,), h5py.vlen_dtype("uint8"))
            for i in range(5):
                photos[i] = numpy.frombuffer(encoded(photo(i, of=name), "PNG"),
                                             numpy.uint8)
    with pytest.raises(forebay.errors.InvalidArgument, match="right is neither"):
        with forebay.DataLoader(path, fields=("left", "right"), framework="numpy",
                                transform={"left": T.CenterCrop(12),
                                           "right": T.CenterCrop(12)}):
            pass


def test_alternatives_of_one_name_are_told_apart(shared_daemon, tmp_path):
    """Images cached in decoded form are not mixed up with those of the other loader's
    field."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(16):
            for suffix, value in (("png", 200), ("jpeg", 40)):
                image = PIL.Image.new("RGB", (600, 450), (value,) * 3)
                content = encoded(image, suffix)
                for name, part in (("txt", b"x"), (suffix, content))[suffix == "jpeg":]:
                    info = tarfile.TarInfo(f"{number:04}.{name}")
                    info.size = len(part)
                    tar.addfile(info, io.BytesIO(part))

    def values(fields):
        with open_pairs(path, fields, shuffle=True,
                        transform=T.RandomResizedCrop(64)) as loader:
            return {int(value) for _ in range(3) for batch in loader
                    for value in batch.jpg.mean(axis=(1, 2, 3)).round()}

    assert values(("txt", "jpg;png")) == {200}
    assert values(("txt", "jpg;jpeg")) == {40}


def test_a_broken_one_is_named(shared_daemon, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for suffix, content in (("left.png", encoded(photo(1), "PNG")),
                                ("right.png", encoded(photo(1), "PNG")[:200])):
            info = tarfile.TarInfo(f"one.{suffix}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    with pytest.raises(forebay.errors.DataError, match=r"one.*right\.png"):
        with open_pairs(path, ("left.png", "right.png"),
                        transform=T.CenterCrop(8)) as loader:
            list(loader)


def test_python_code_goes_with_one_image(shared_daemon, tmp_path):
    path = write_pairs(tmp_path / "a.tar")
    from torchvision import transforms

    def own_code(image):
        return image

    with pytest.raises(forebay.errors.ForebayError):
        with open_pairs(path, transform=transforms.Compose(
                [transforms.CenterCrop(20), own_code,
                 transforms.CenterCrop(10)])) as loader:
            list(loader)
