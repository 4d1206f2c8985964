"""A dataset turns out to be out of date before any sample was delivered. Then it is
opened anew, even if that fails at first."""

import shutil

import numpy
import pytest

import forebay
from test_client_processes import in_child
from trouble import contents, open_loader, run_until_error

SAMPLES = 48
SOURCE_UNAVAILABLE = 14  # FOREBAY_SOURCE_UNAVAILABLE
OTHER = 7  # index of the photograph that replaces all others
AWAY = forebay.DaemonUnavailable("it is away")


@pytest.fixture(autouse=True)
def retry_seconds(monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "60")


@pytest.fixture
def folder(tmp_path, photos):
    """A dataset that a test may change."""
    return shutil.copytree(photos, tmp_path / "data")


def edit(folder, photos):
    """Replaces each photograph by one of another length."""
    content = sorted(photos.rglob("*.jpg"))[OTHER].read_bytes() + b"\0"
    for path in folder.rglob("*.jpg"):
        path.write_bytes(content)


class Opening:
    """Stands in for the function that opens a connection. Raises the errors in `raises`
    first."""

    def __init__(self, monkeypatch, module, name):
        self._real = getattr(module, name)
        self.raises = []  # one error for each of the next calls
        monkeypatch.setattr(module, name, self)

    def __call__(self, *arguments):
        if self.raises:
            raise self.raises.pop(0)
        return self._real(*arguments)


@pytest.fixture
def opening(monkeypatch):
    """Stands in for the function that opens loaders' connections."""
    return Opening(monkeypatch, forebay._connection, "Connection")


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("away", [
    AWAY, forebay.SourceUnavailable("the bucket is away")])
def test_a_loader_waits_for_the_daemon(folder, photos, caplog, opening, away):
    with open_loader(folder) as loader:
        before = loader.dataset.version
        edit(folder, photos)
        opening.raises = [away]
        images, ids = contents(loader)
        assert ids == list(range(SAMPLES))
        assert (images == images[OTHER]).all()
        assert loader.dataset.version != before
    assert caplog.text.count("the dataset is opened anew") == 1
    assert caplog.text.count("away: waiting up to 60 s to go on") == 1
    assert caplog.text.count("goes on after") == 1


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("again", [False, True], ids=["next", "iter"])
def test_a_loader_that_is_interrupted_goes_on(folder, photos, caplog, opening,
                                              again):
    with open_loader(folder) as loader:
        edit(folder, photos)
        batches = iter(loader)
        opening.raises = [KeyboardInterrupt, AWAY]
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        _, ids = contents(iter(loader) if again else batches)
        assert ids == list(range(SAMPLES))
    assert "is closed" not in caplog.text
    assert caplog.text.count("the dataset is opened anew") == 1


@pytest.mark.usefixtures("daemon")
def test_a_loader_that_is_interrupted_after_opening_goes_on(
        folder, photos, caplog, monkeypatch):
    connection = forebay._connection.Connection
    start = connection.start_epoch
    with open_loader(folder) as loader:
        edit(folder, photos)
        batches = iter(loader)

        def interrupted(*_):
            monkeypatch.setattr(connection, "start_epoch", start)
            raise KeyboardInterrupt

        monkeypatch.setattr(connection, "start_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        assert contents(batches)[1] == list(range(SAMPLES))
    assert "is closed" not in caplog.text
    assert caplog.text.count("the dataset is opened anew") == 1


@pytest.mark.usefixtures("daemon")
def test_a_loader_with_other_samples_says_so_each_time(folder, photos):
    with open_loader(folder) as loader:
        edit(folder, photos)
        (folder / "forest" / "015.jpg").unlink()
        for _ in range(3):
            text, ids = run_until_error(loader, forebay.StateError)
            assert "has changed since it was opened: open another" in text
            assert not ids


@pytest.mark.usefixtures("daemon")
def test_a_wait_ends_with_the_connection(folder, photos, caplog):
    with open_loader(folder) as loader:
        edit(folder, photos)
        batches = iter(loader)

        def seem_away():
            take, given = batches._next_memory, [SOURCE_UNAVAILABLE]
            batches._next_memory = lambda: given.pop() if given else take()

        read_from = batches.read_from

        def read_from_another(connection):
            read_from(connection)
            seem_away()

        batches.read_from = read_from_another
        seem_away()
        assert contents(batches)[1] == list(range(SAMPLES))
    assert caplog.text.count("waiting up to 60 s to go on") == 2
    assert caplog.text.count("goes on after") == 2


@pytest.mark.usefixtures("daemon")
def test_a_dataset_waits_for_the_daemon(folder, photos, caplog, monkeypatch):
    opening = Opening(monkeypatch, forebay._reader, "Reader")
    dataset = forebay.Dataset(folder, autostart=False)
    edit(folder, photos)
    opening.raises = [AWAY, KeyboardInterrupt, AWAY]
    with pytest.raises(KeyboardInterrupt):
        dataset[0]
    numpy.testing.assert_array_equal(dataset[0][0], dataset[OTHER][0])
    assert caplog.text.count("the dataset is opened anew") == 1


@pytest.mark.usefixtures("daemon")
@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker")
def test_forked_workers_open_a_dataset_anew(folder, photos):
    torch = pytest.importorskip("torch")
    dataset = forebay.Dataset(folder, autostart=False)
    edit(folder, photos)
    batches = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=4)
    images = torch.cat([images for images, _ in batches])
    assert len(images) == SAMPLES and (images == images[OTHER]).all()


@pytest.mark.usefixtures("daemon")
def test_a_forked_loader_opens_a_dataset_anew(folder, photos):
    with open_loader(folder) as loader:
        edit(folder, photos)

        def check():
            images, _ = contents(loader)
            assert (images == images[OTHER]).all()

        assert in_child(check) == 0


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("whole", [False, True], ids=["batch", "epoch"])
def test_a_forked_loader_that_has_had_a_sample_opens_none_anew(folder, photos,
                                                               whole):
    with open_loader(folder) as loader:
        contents(loader if whole else [next(iter(loader))])
        edit(folder, photos)

        def check():
            with pytest.raises(forebay.StateError, match="has changed"):
                iter(loader)

        assert in_child(check) == 0


@pytest.mark.usefixtures("daemon")
def test_a_worker_that_has_had_a_sample_opens_none_anew(folder, photos):
    torch = pytest.importorskip("torch")
    dataset = forebay.Dataset(folder, autostart=False)
    dataset[0]
    edit(folder, photos)
    with pytest.raises(forebay.StateError, match="has changed"):
        list(torch.utils.data.DataLoader(dataset, num_workers=1))
