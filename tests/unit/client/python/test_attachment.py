"""A loader's attachment to a daemon, without a real daemon."""

import pytest

from forebay import _attachment, _connection, errors


@pytest.fixture
def daemon(monkeypatch):
    """Counts the starts of daemons. The first `leaves` connections find that their
    daemon has just left."""
    class Daemon:
        starts = 0
        leaves = 0

        def start(self):
            self.starts += 1

        def connect(self, options, transform, start_daemon):
            if self.leaves > 0:
                self.leaves -= 1
                raise errors.DaemonUnavailable("nobody listens")
            return "connected"

    made = Daemon()
    monkeypatch.setattr(_connection, "Connection", made.connect)
    return made


def test_a_daemon_that_leaves_as_we_come_is_started_again(daemon):
    daemon.leaves = 1
    attachment = _attachment.Attachment({}, None, daemon.start)
    assert attachment.connection == "connected"
    assert daemon.starts == 2


def test_a_daemon_that_leaves_again_is_an_error(daemon):
    daemon.leaves = 2
    with pytest.raises(errors.DaemonUnavailable):
        _attachment.Attachment({}, None, daemon.start)


def test_a_daemon_that_nobody_may_start_is_an_error(daemon):
    daemon.leaves = 1
    with pytest.raises(errors.DaemonUnavailable):
        _attachment.Attachment({}, None, None)
