"""forebay.Dataset gives samples by their numbers, for the loaders of other
libraries."""

import io
import multiprocessing
import os
import pickle
import shutil
import signal
import tarfile
import threading

import numpy
import PIL.Image
import pytest

import forebay
from forebay import _source
from raw_session import (INVALID_ARGUMENT, NOT_FOUND, in_child, loader_spec,
                         messages, text)
from test_client_batches import SAMPLES, reference
from trouble import ctl, memory_used, until

T = forebay.transforms


@pytest.fixture
def mixed(tmp_path):
    """Photographs of many sizes."""
    folder = tmp_path / "mixed"
    chance = numpy.random.RandomState(3)
    for number in range(30):
        (folder / str(number % 3)).mkdir(parents=True, exist_ok=True)
        pixels = chance.randint(0, 256, (chance.randint(1, 200),
                                         chance.randint(1, 200), 3), "uint8")
        kind = "png" if number % 2 else "jpg"
        PIL.Image.fromarray(pixels).save(
            folder / str(number % 3) / f"{number:02}.{kind}", quality=95)
    return folder


def files(folder):
    return sorted(folder.glob("*/*"))


def pixels(path):
    return numpy.asarray(PIL.Image.open(path).convert("RGB"))


def test_images_are_as_pillow_has_them(daemon, mixed):
    dataset = forebay.Dataset(mixed)
    assert len(dataset) == 30 and dataset.classes == ["0", "1", "2"]
    for number, path in enumerate(files(mixed)):
        image, label = dataset[number]
        assert image.dtype == numpy.uint8 and (image == pixels(path)).all()
        assert label == int(path.parent.name) and isinstance(label, int)
    assert (dataset[-1][0] == pixels(files(mixed)[-1])).all()
    # Arrays belong to the caller.
    first = dataset[0][0]
    kept = first.copy()
    dataset[1], dataset[2]
    first //= 2
    assert (first == kept // 2).all()


def test_raw_bytes(daemon, mixed):
    dataset = forebay.Dataset(mixed, decode=False)
    for number, path in enumerate(files(mixed)):
        assert dataset[number] == (path.read_bytes(), int(path.parent.name))


def test_several_at_once(daemon, mixed):
    dataset = forebay.Dataset(mixed)
    numbers = [3, 29, 3, 0] * 300
    found = dataset.__getitems__(numbers)
    assert len(found) == len(numbers)
    for number, (image, _) in list(zip(numbers, found))[::37]:
        assert (image == pixels(files(mixed)[number])).all()
    assert dataset.__getitems__([]) == []


def test_transforms_that_draw_nothing(daemon, photos):
    resize = T.Compose([T.Resize((20, 30)), T.ToImage(), T.ToDtype("float32")])
    image, _ = forebay.Dataset(photos, transform=resize)[5]
    assert image.shape == (3, 20, 30) and image.dtype == numpy.float32
    with forebay.DataLoader(photos, batch_size=8, transform=resize,
                            framework="numpy") as loader:
        assert (next(iter(loader)).image[5] == image).all()
    with pytest.raises(forebay.InvalidArgument,
                       match="op 2, RandomHorizontalFlip: draws at random"):
        forebay.Dataset(photos, transform=T.Compose([
            T.Resize((20, 30)), T.RandomHorizontalFlip()]))
    with pytest.raises(forebay.InvalidArgument, match="is for decoded images"):
        forebay.Dataset(photos, transform=resize, decode=False)
    with pytest.raises(forebay.InvalidArgument, match="Resize"):
        forebay.Dataset(photos, transform=T.Resize(20))


def test_any_source_has_samples(daemon, photos):
    images, labels = reference(photos)
    x = numpy.arange(24, dtype="float16").reshape(4, 3, 2)
    memory = forebay.Dataset(_source.Arrays((
        ("x", "array", x), ("image", "image", images[:4]))))
    got, picture = memory[2]
    assert (got == x[2]).all() and got.dtype == x.dtype
    assert (picture == images[2]).all()
    folder = _source.Folder(photos)
    some = forebay.Dataset(_source.Subset(
        _source.Concat((folder, folder)), [SAMPLES + 7, 1]))
    assert (some[0][0] == images[7]).all() and some[1][1] == labels[1]


def test_bytes_come_from_the_shared_cache(daemon, photos):
    size = sum(path.stat().st_size for path in photos.glob("*/*.jpg"))
    with forebay.DataLoader(photos, batch_size=8,
                            transform=T.CenterCrop(72)) as loader:
        list(loader)
    forebay.Dataset(photos).__getitems__(range(SAMPLES))
    total = ctl(daemon, "cache")["total"]
    assert int(total["source"]["bytes"]) == size
    assert int(total["memory"]["bytes"]) == size


def test_numbers_that_are_none(daemon, photos):
    dataset = forebay.Dataset(photos)
    for wrong in (SAMPLES, -SAMPLES - 1, 1 << 70):
        with pytest.raises(IndexError, match=f"which has {SAMPLES}"):
            dataset[wrong]
    with pytest.raises(TypeError):
        dataset["one"]
    assert dataset[numpy.int64(3)][1] == 0
    # A `for` loop over the dataset ends.
    assert sum(1 for _ in dataset) == SAMPLES


def test_a_sample_that_is_broken_harms_no_other(daemon, photos, tmp_path):
    folder = shutil.copytree(photos, tmp_path / "data")
    (folder / "city" / "003.jpg").write_bytes(b"\xff\xd8\xff no photograph")
    dataset = forebay.Dataset(folder)
    with pytest.raises(forebay.DataError,
                       match=f"sample 19 of {folder}: city/003.jpg: is a"):
        dataset[19]
    with pytest.raises(forebay.DataError, match="sample 19 of"):
        dataset.__getitems__([18, 19, 20])
    assert dataset[18][0].shape == (72, 96, 3)
    (folder / "city" / "004.jpg").unlink()
    with pytest.raises(forebay.NotFound, match="city/004.jpg"):
        dataset[20]
    assert dataset[21][0].shape == (72, 96, 3)


def test_threads_take_turns(daemon, photos):
    images, _ = reference(photos)
    dataset = forebay.Dataset(photos)
    wrong = []

    def read(seed):
        for number in numpy.random.RandomState(seed).randint(0, SAMPLES, 60):
            if (dataset[number][0] != images[number]).any():
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_forked_children_have_sessions_of_their_own(daemon, photos):
    images, _ = reference(photos)
    dataset = forebay.Dataset(photos)

    def check():
        for number in range(SAMPLES):
            assert (dataset[number][0] == images[number]).all()

    children = [multiprocessing.get_context("fork").Process(target=check)
                for _ in range(3)]
    for child in children:
        child.start()
    check()
    for child in children:
        child.join()
        assert child.exitcode == 0
    check()


def test_memory_goes_back_with_the_dataset(daemon, photos):
    before = memory_used(daemon)
    dataset = forebay.Dataset(photos)
    dataset[0]
    assert memory_used(daemon) > before
    del dataset
    until(lambda: memory_used(daemon) == before, "the window has gone")


def test_is_pickled_as_what_it_was_made_of(daemon, photos):
    dataset = forebay.Dataset(photos, transform=T.CenterCrop(10))
    other = pickle.loads(pickle.dumps(dataset))
    assert (other[3][0] == dataset[3][0]).all()
    assert other.version == dataset.version


@pytest.mark.parametrize("broken", [b"{", b"[" * 100_000 + b"]" * 100_000],
                         ids=["damaged", "nested"])
def test_json_that_is_none(shared_daemon, tmp_path, broken):
    with tarfile.open(tmp_path / "a.tar", "w") as shard:
        for name, content in (("0.json", b'{"a": 1}'), ("1.json", broken)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            shard.addfile(member, io.BytesIO(content))
    dataset = forebay.Dataset(tmp_path / "a.tar", fields=("json",))
    with pytest.raises(forebay.DataError) as caught:
        dataset[1]
    assert str(caught.value).startswith("sample 1: json: is not JSON: ")
    assert dataset[0] == ({"a": 1},)


def test_survives_a_restart_of_the_daemon(daemon, photos):
    dataset = forebay.Dataset(photos)
    before = dataset[7][0]
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert (dataset[7][0] == before).all()


def test_who_is_interrupted_starts_anew(daemon, photos, monkeypatch):
    dataset = forebay.Dataset(photos)
    expected = dataset[2][0]

    class Stop(Exception):
        """An exception that a signal handler may raise."""

    def interrupted(_):
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(forebay._reader, "_wait", interrupted)
        with pytest.raises(Stop):
            dataset[1]
    assert (dataset[2][0] == expected).all()


def test_torch_loader_with_workers(daemon, photos):
    torch = pytest.importorskip("torch")
    images, labels = reference(photos)
    dataset = forebay.Dataset(photos)
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(
            dataset, batch_size=10, num_workers=workers)
        at = 0
        for batch, batch_labels in loader:
            count = len(batch_labels)
            assert (batch.numpy() == images[at:at + count]).all()
            assert (batch_labels.numpy() == labels[at:at + count]).all()
            at += count
        assert at == SAMPLES


def test_what_does_not_fit_is_refused(tmp_path, photos):
    from daemons import serving
    config = tmp_path / "forebayd.toml"
    config.write_text('[memory]\nlimit = "200MiB"\n[cache]\nmemory = "0"\n')
    folder = tmp_path / "large" / "a"
    folder.mkdir(parents=True)
    PIL.Image.new("RGB", (9000, 9000)).save(folder / "0.png")
    PIL.Image.new("RGB", (9, 9)).save(folder / "1.png")
    with serving(tmp_path, "--config", str(config)):
        dataset = forebay.Dataset(tmp_path / "large")
        with pytest.raises(forebay.ResourceExhausted,
                           match="a window for fetched samples"):
            dataset[0]
        assert dataset[1][0].shape == (9, 9, 3)


@pytest.mark.parametrize("decode", [None, "no", 1])
def test_decode_is_a_bool(photos, decode):
    with pytest.raises(forebay.InvalidArgument, match="decode must be True or False"):
        forebay.Dataset(photos, decode=decode)


def test_hostile_fetches(session, photos):
    kinds = messages()[1]

    def ask(reader, samples):
        answer, fds = session.call(fetch=kinds.Fetch(
            reader_id=reader, samples=samples))
        for fd in fds:
            os.close(fd)
        return answer

    root = os.open(photos, os.O_RDONLY)
    opened, _ = session.call([root], open_reader=kinds.OpenReader(
        spec=loader_spec(), decode=True))
    os.close(root)
    assert list(opened.fields) == [b"image", b"label"]
    for reader in (0, 2, 2**64 - 1):
        assert ask(reader, [1]).code == NOT_FOUND
    for samples in ([], [SAMPLES], [0, 2**64 - 1], [0] * 1025):
        error = ask(opened.reader_id, samples)
        assert error.code == INVALID_ARGUMENT, text(error)
    assert ask(opened.reader_id, [0] * 1024).window_bytes > 0
    assert ask(opened.reader_id, [5]).window_bytes == 0


def test_who_hangs_up_in_mid_fetch_leaves_nothing(daemon, photos):
    before = memory_used(daemon)

    def leave():
        dataset = forebay.Dataset(photos)
        numbers = (forebay._reader.c.c_int64 * 1000)(
            *(i % SAMPLES for i in range(1000)))
        forebay._native.check(forebay._native.lib.forebay_reader_ask(
            dataset._reader._handle, numbers, 1000))
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(3):
        assert in_child(leave) == -signal.SIGKILL
    until(lambda: memory_used(daemon) == before, "all has been given back")
