"""Fixtures of all integration tests: daemons, photographs, servers and sessions.

Run the tests with Debian's Python, after building //server/daemon:forebayd and
//client:libforebay.so.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys

import PIL.Image
import pytest

from daemons import serving

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "client" / "python"), str(ROOT / "tests" / "cloud"),
                str(ROOT / "tests" / "faults")]
sys.dont_write_bytecode = True
# A background job of a plain shell ignores SIGINT, and all trainers would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)

WALLPAPERS = ["lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04",
              "mate-backgrounds"]
CLASSES = ("beach", "city", "forest")
PER_CLASS = 16
WIDTH, HEIGHT = 96, 72


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "alone: measures the machine: no other test runs meanwhile")


@pytest.fixture(autouse=True)
def unseeded():
    """Gives each test a random seed of torch, from which loaders take theirs."""
    yield
    torch = sys.modules.get("torch")
    if hasattr(torch, "seed"):
        torch.seed()


@pytest.fixture
def daemon(tmp_path):
    """A daemon for this test alone."""
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder) as started:
        yield started


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory):
    """A daemon for the tests of a module, which leave it as they found it."""
    with serving(tmp_path_factory.mktemp("daemon")) as started:
        yield started


@pytest.fixture(scope="session")
def fake_gcs():
    """A running server of Cloud Storage's API, for the buckets of all tests."""
    from fake_gcs import FakeGcs, missing
    if missing():
        pytest.skip(missing())
    with FakeGcs() as server:
        yield server


@pytest.fixture
def hung_mount(daemon, tmp_path):
    """A function that makes mounts which hang on demand: `hung_mount(source)` returns a
    HungMount, and takes its other arguments, too. The mounts end before the daemon,
    which could not end while its threads wait for one."""
    from hung_mount import HungMount, missing
    if missing():
        pytest.skip(missing())
    with contextlib.ExitStack() as mounts:
        def mount(source, mountpoint=None, **options):
            count = len(list(tmp_path.glob("mount-*")))
            return mounts.enter_context(HungMount(
                source, mountpoint or tmp_path / f"mount-{count}", **options))
        yield mount


@pytest.fixture
def hung_disk(daemon, tmp_path):
    """A function that makes disks which hang on demand: `hung_disk(source)` returns a
    HungDisk. The disks end before the daemon."""
    from hung_disk import HungDisk, missing
    if missing():
        pytest.skip(missing())
    with contextlib.ExitStack() as disks:
        yield lambda source: disks.enter_context(
            HungDisk(source, tmp_path / "hung-disk"))


@pytest.fixture(params=["C++", "ctypes"])
def batch_reader(request, monkeypatch):
    """Runs the test with each of the two implementations of BatchReader."""
    from forebay import _batch_reader
    if request.param == "ctypes":
        monkeypatch.setattr(_batch_reader, "_cbatch_reader", None)


@pytest.fixture
def connect(shared_daemon):
    """A function that opens raw sessions."""
    from raw_session import RawSession
    opened = []

    def new():
        opened.append(RawSession(shared_daemon.runtime_dir / "session.sock"))
        return opened[-1]

    yield new
    for session in opened:
        session.socket.close()


@pytest.fixture
def session(connect):
    """A raw session that has sent its greeting."""
    return connect().greet()


def _sources():
    listed = subprocess.run(["dpkg-query", "-L", *WALLPAPERS], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    return sorted(path for path in set(listed.splitlines())
                  if path.lower().endswith((".jpg", ".jpeg"))
                  and not os.path.islink(path))


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """A folder of class folders: CLASSES x PER_CLASS JPEG photographs of WIDTH x HEIGHT
    pixels. Tests must not change it."""
    folder = tmp_path_factory.mktemp("photos")
    chance = random.Random(1)
    sources = chance.sample(_sources(), len(CLASSES))
    for name, source in zip(CLASSES, sources):
        (folder / name).mkdir()
        with PIL.Image.open(source) as opened:
            image = opened.convert("RGB").reduce(3)
        for number in range(PER_CLASS):
            x = chance.randrange(image.width - WIDTH)
            y = chance.randrange(image.height - HEIGHT)
            image.crop((x, y, x + WIDTH, y + HEIGHT)).save(
                folder / name / f"{number:03d}.jpg", quality=90)
    yield folder
    # A hard link changes the file's ctime, and the way in which tar archives the file.
    assert all(path.stat().st_nlink == 1 for path in folder.glob("*/*.jpg")), \
        "a test has linked the photographs that all tests share"


@pytest.fixture
def image_folder(shared_daemon, photos):
    """The photographs as a torchvision ImageFolder."""
    import drop_in
    return drop_in.image_folder(photos)
