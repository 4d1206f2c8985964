"""How a loader waits for a daemon: pauses, limits, and log lines."""

import itertools

import pytest

import forebay
from forebay import _retry


class Daemon:
    """The daemon that a Retry looks for, away in the first `tries` tries."""

    def __init__(self, tries):
        self.left, self.starts = tries, 0

    def attach(self):
        self.left -= 1
        if self.left >= 0:
            raise forebay.DaemonUnavailable(f"away {self.left}")
        return True

    def start(self):
        self.starts += 1


def test_pauses_grow_within_bounds():
    for chance in (0.0, 0.5, 0.999):
        drawn = list(itertools.islice(_retry.backoff(lambda: chance), 12))
        longest = 0.05
        for pause in drawn:
            assert longest / 2 <= pause <= longest
            longest = min(2 * longest, 5.0)


def test_one_line_when_it_goes_and_one_when_it_is_back(caplog, monkeypatch):
    monkeypatch.delenv("FOREBAY_REATTACH_SECONDS", raising=False)
    daemon = Daemon(tries=50)
    retry = _retry.Retry("/data", daemon.attach, daemon.start)
    retry.wait(forebay.DaemonUnavailable("gone"))
    retry.wait(forebay.DaemonUnavailable("gone again"))
    retry.done()
    away, back = [record.getMessage() for record in caplog.records]
    assert away == "/data: gone: waiting up to 60 s to go on"
    assert back.startswith("/data: goes on after ")
    # A daemon that exits at once is not started again at each of the 50 tries.
    assert 1 <= daemon.starts < 50


def test_gives_up_with_the_last_reason(monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0.05")
    daemon = Daemon(tries=10**9)
    retry = _retry.Retry("/data", daemon.attach, None)
    with pytest.raises(forebay.DaemonUnavailable, match="/data: away .*0.05 s"):
        retry.wait(forebay.DaemonUnavailable("gone"))


def test_the_user_sets_the_seconds(monkeypatch, caplog):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "soon")
    with pytest.raises(forebay.InvalidArgument, match="soon"):
        _retry.reattach_seconds()
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0")
    with pytest.raises(forebay.DaemonUnavailable, match="^gone$"):
        _retry.Retry("/data", Daemon(9).attach, None).wait(
            forebay.DaemonUnavailable("gone"))
    assert not caplog.records


def test_says_whether_it_is_the_daemon_or_the_storage_that_is_away(monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0")
    with pytest.raises(forebay.SourceUnavailable, match="^no such host$") as error:
        _retry.Retry("/data", Daemon(9).attach, None).wait(
            forebay.SourceUnavailable("no such host"))
    assert not isinstance(error.value, forebay.DaemonUnavailable)

    def attempt():
        raise forebay.SourceUnavailable("still none")

    with pytest.raises(forebay.SourceUnavailable, match="^still none$"):
        _retry.until_available("/data", attempt, None)


def test_a_caller_may_not_wait(monkeypatch, caplog):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "60")

    def attempt():
        raise forebay.SourceUnavailable("none")

    with pytest.raises(forebay.SourceUnavailable, match="^none$"):
        _retry.until_available("/data", attempt, None, seconds=0)
    assert not caplog.records


def test_only_what_passes_is_awaited(monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "60")
    # A daemon was started in this directory before, so another one may come.
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "forebayd.lock").touch()
    came = [forebay.DaemonUnavailable("gone"), forebay.SourceUnavailable("away")]

    def attempt():
        raise came.pop(0)

    with pytest.raises(forebay.SourceUnavailable, match="^away$"):
        _retry.until_available("/data", attempt, None,
                               passing=(forebay.DaemonUnavailable,))
    assert not came
    assert len(caplog.records) == 1


def tries_in(monkeypatch, directory):
    """Returns how often the client tries to reach a daemon in `directory`, and the
    error's text."""
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(directory))
    tries = []

    def attempt():
        tries.append(1)
        raise forebay.DaemonUnavailable("no daemon listens")

    with pytest.raises(forebay.DaemonUnavailable) as caught:
        _retry.until_available("data", attempt, None, seconds=0.2)
    return len(tries), str(caught.value)


def test_nobody_waits_where_no_daemon_was_ever_started(monkeypatch, tmp_path):
    assert tries_in(monkeypatch, tmp_path / "none") == (1, "no daemon listens")
    (tmp_path / "forebayd.lock").touch()
    assert tries_in(monkeypatch, tmp_path)[0] > 1


def test_nobody_waits_for_a_socket_whose_path_is_too_long(monkeypatch, tmp_path):
    directory = tmp_path / ("x" * 100)
    directory.mkdir()
    (directory / "forebayd.lock").touch()
    tries, text = tries_in(monkeypatch, directory)
    assert tries == 1
    assert "at most 107 bytes" in text
