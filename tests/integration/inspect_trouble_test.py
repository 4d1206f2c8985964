"""forebay.inspect of datasets that are odd, broken or away. There is one reason, and
soon, and no finding is lost."""

import functools
import http.server
import os
import socket
import subprocess
import sys
import threading

import h5py
import numpy
import pytest
import soundfile

import forebay
from daemons import FOREBAYD
from forebay._inspect import verify
from inspect_test import first_batch
from inspect_verify_test import command
from inspected_files import members, pictures
from packed_files import ZSTD_PACKERS, one_frame, tar_of
from test_client_autostart import daemons_of
from trouble import FOREBAYCTL, PATIENCE, until


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("pack", ZSTD_PACKERS)
def test_shards_of_all_that_compresses_by_zstd(tmp_path, photos, pack):
    (tmp_path / "a.tar.zst").write_bytes(pack(tar_of(members(photos))))
    found = forebay.inspect(tmp_path)
    assert [field["name"] for field in found.fields] == ["jpg", "cls"]
    first_batch(found)


@pytest.mark.usefixtures("shared_daemon")
def test_why_shards_are_not_read(tmp_path, photos):
    whole = one_frame(tar_of(members(photos)))
    path = tmp_path / "a.tar.zst"
    for content, why in ((whole[:-9], "is truncated"), (whole + b"more", "behind")):
        path.write_bytes(content)
        with pytest.raises(forebay.ForebayError, match=why):
            forebay.inspect(path)


@pytest.fixture
def web(tmp_path):
    """The URL of a server of the folder. The server sends only whole files."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                                directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("shared_daemon")
def test_samples_of_which_none_can_be_read(tmp_path, web):
    (tmp_path / "a.tar").write_bytes(tar_of(
        (f"{number}.txt", b"text") for number in range(40)))
    with pytest.raises(forebay.DataError, match="at .16. can .* does not send"):
        forebay.inspect(f"{web}/a.tar")


@pytest.mark.usefixtures("shared_daemon")
def test_a_server_that_is_away(monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "86400")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(forebay.SourceUnavailable, match="Failed to connect .* server$"):
        forebay.inspect(f"http://127.0.0.1:{port}/a.tar")
    with pytest.raises(forebay.SourceUnavailable, match="Failed to connect .* server$"):
        forebay.DataLoader(f"http://127.0.0.1:{port}/a.tar", fields=("txt",),
                           batch_size=1)


@pytest.mark.usefixtures("shared_daemon")
def test_findings_are_told_before_a_sheet_that_cannot_be_written(tmp_path, photos):
    done = command(photos, "--verify", "-o", tmp_path)
    assert done.returncode == 1 and "all 48 samples can be read" in done.stdout
    assert done.stderr == f"forebayctl: {tmp_path} cannot be written: Is a directory\n"
    done = command(photos, "-o", tmp_path / "nowhere" / "a.png")
    assert done.returncode == 1 and done.stdout == ""


@pytest.mark.usefixtures("shared_daemon")
def test_an_interrupted_verification_leaves_the_look_as_it_was(photos, monkeypatch):
    read = verify._read

    def interrupted(samples, numbers, found, most):
        if found.read > 0:
            raise KeyboardInterrupt
        read(samples, numbers, found, most)

    monkeypatch.setattr(verify, "_read", interrupted)
    monkeypatch.setattr(verify, "_at_once", lambda stored, decoded: 8)
    found = forebay.inspect(photos, verify=True)
    assert not found.verification.is_complete
    assert found.fields == forebay.inspect(photos).fields


@pytest.mark.usefixtures("shared_daemon")
def test_clips_of_mixed_channels(tmp_path):
    for channels in (1, 2):
        soundfile.write(tmp_path / f"{channels}.wav", numpy.zeros((900, channels)),
                        16000)
    found = forebay.inspect(tmp_path)
    assert found.fields[0]["shape"] == [900, None]
    assert first_batch(found).audio.shape == (2, 512)


@pytest.mark.usefixtures("shared_daemon")
def test_names_of_classes_stay_on_their_lines(photos, tmp_path):
    for name in ("cat\nnew", "dog\x1b[2J"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jpg").write_bytes(pictures(photos)[0].read_bytes())
    text = str(forebay.inspect(tmp_path))
    assert "cat?new, dog?[2J" in text and text.count("cat?new  1") == 1


@pytest.mark.usefixtures("shared_daemon")
def test_one_line_where_nothing_can_be_written_or_found(photos, tmp_path):
    for script, says in (
            ("$0 inspect $1 > /dev/full",
             "cannot write: No space left on device (free some space there)"),
            ("$0 inspect $1 >&-", None),
            ("mkdir gone && cd gone && rmdir ../gone && $0 inspect .",
             ".: the working directory was removed"),
            ("$0 inspect /proc/self/mem", "/proc/self/mem: Input/output error"),
            ("ln -s nowhere link && $0 inspect $PWD/link",
             f"{tmp_path}/link: is a link to nowhere, which does not exist"),
            ("FOREBAY_LIBRARY=/nowhere $0 inspect $1", "cannot load /nowhere: ")):
        done = subprocess.run(
            ["bash", "-c", script, FOREBAYCTL, photos], cwd=tmp_path, timeout=PATIENCE,
            env=dict(os.environ, FOREBAY_PYTHON=sys.executable), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == (0 if says is None else 1), done.stderr
        assert done.stderr.count("\n") == (says is not None), done.stderr
        assert done.stderr.startswith("" if says is None else f"forebayctl: {says}")


def test_the_command_starts_a_daemon(photos, tmp_path):
    environment = {name: value for name, value in os.environ.items()
                   if name != "FOREBAY_RUNTIME_DIR"}
    environment.update(
        XDG_RUNTIME_DIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path),
        FOREBAY_PYTHON=sys.executable,
        PATH=f"{os.path.dirname(FOREBAYD)}:{os.environ['PATH']}")

    def inspect(*options):
        return subprocess.run([FOREBAYCTL, *options, "inspect", photos], text=True,
                              env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)

    # With a named runtime directory, the daemon is somebody else's, and is not started.
    assert inspect("--runtime-dir", tmp_path / "other").returncode == 3
    done = inspect()
    assert (done.returncode, done.stderr) == (0, "")
    started = daemons_of(tmp_path / "forebay")
    assert len(started) == 1
    os.kill(started[0], 15)
    until(lambda: not daemons_of(tmp_path / "forebay"), "the daemon leaves")


@pytest.mark.usefixtures("shared_daemon")
def test_groups_of_hdf5_files_that_are_samples(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number in range(20):
            file[f"data/demo_{number}/image"] = numpy.full((2, 3), number)
            file[f"data/demo_{number}/label"] = number
            file[f"data/demo_{number}/steps"] = numpy.zeros((number + 1, 4))
    found = forebay.inspect(tmp_path / "a.h5")
    assert (found.format, found.samples) == ("hdf5", 20)
    assert ('fields={"data/*/image": "", "data/*/label": "", "data/*/steps": '
            '"float64[n,4]"}') in found.code
    assert found.fields[2]["shape"] == [None, 4]
    first_batch(found)
