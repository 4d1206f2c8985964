"""Places that forebay.open refuses, because the daemon would read another file
there."""

import ctypes
import errno
import os
import resource

import pytest

import forebay
from daemons import serving
from opened_files import MIB
from raw_session import in_child


@pytest.mark.parametrize("path", ["/proc/version", "/proc/self/status"])
@pytest.mark.parametrize("root", [None, "/proc"])
def test_a_file_that_hides_its_size(shared_daemon, path, root):
    assert os.stat(path).st_size == 0
    with pytest.raises(forebay.Unsupported, match=f"{path}: has bytes but tells"):
        forebay.open(path, root=root)


def test_an_attribute_of_the_kernel_is_not_cut_short(shared_daemon):
    path = "/sys/devices/system/cpu/online"
    assert os.stat(path).st_size > len(open(path, "rb").read())
    with pytest.raises(forebay.DataError, match="ends after"):
        forebay.open(path)


def test_a_removed_file_is_not_taken_for_another(shared_daemon, tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with open(tmp_path / "a", "rb") as held:
        os.unlink(tmp_path / "a")
        way = f"/proc/self/fd/{held.fileno()}"
        with pytest.raises(forebay.NotFound, match=way) as caught:
            forebay.open(way)
        assert caught.value.errno == errno.ENOENT
        other = tmp_path / "a (deleted)"
        other.write_bytes(b"other")
        with pytest.raises(forebay.NotFound, match=way):
            forebay.open(way)
        assert forebay.open(other).read() == b"other"


def test_a_file_of_this_process_is_read_by_its_descriptor(shared_daemon, tmp_path):
    (tmp_path / "a").write_bytes(b"held")
    with open(tmp_path / "a", "rb") as held:
        assert forebay.open(f"/proc/self/fd/{held.fileno()}").read() == b"held"


def test_without_descriptors(shared_daemon, tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").write_bytes(b"")

    def starve(path):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        for _ in range(2):
            with pytest.raises(forebay.ResourceExhausted, match="open files"):
                forebay.open(path)

    for name in ("a", "b"):
        assert in_child(lambda: starve(tmp_path / name)) == 0


def give_up_all_powers():
    """Gives up root's capabilities, so that file modes also restrict root."""
    version = 0x20080522
    found = ctypes.CDLL(None, use_errno=True).capset(
        (ctypes.c_uint32 * 2)(version, 0), (ctypes.c_uint32 * 6)())
    assert found == 0, os.strerror(ctypes.get_errno())


@pytest.mark.parametrize("size", [0, 1, 3 * MIB])
@pytest.mark.parametrize("below_root", [False, True])
def test_a_file_that_may_not_be_read(shared_daemon, tmp_path, size, below_root):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(size))
    secret.chmod(0)

    def check():
        give_up_all_powers()
        with pytest.raises(PermissionError) as theirs:
            open(secret, "rb")
        with pytest.raises(forebay.PermissionDenied, match="secret") as caught:
            forebay.open(secret, root=tmp_path if below_root else None)
        assert isinstance(caught.value, PermissionError)
        assert caught.value.errno == theirs.value.errno
        secret.chmod(0o400)
        assert forebay.open(secret).read() == bytes(size)

    assert in_child(check) == 0


def test_a_file_that_the_daemon_may_not_read(tmp_path):
    launcher = [] if os.geteuid() else [
        "setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    (tmp_path / "daemon").mkdir()
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    secret.chmod(0)
    with serving(tmp_path / "daemon", launcher=launcher), \
            pytest.raises(forebay.PermissionDenied, match="secret"):
        forebay.open(secret)
