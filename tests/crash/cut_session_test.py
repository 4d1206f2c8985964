"""Cuts a session at each of its messages, as when a daemon is killed between two
answers. The next session may be with a daemon of another version."""

import os
import select
import socket
import struct
import threading

import numpy
import pytest

import forebay
from raw_session import messages
from trouble import (PATIENCE, contents, ctl, open_loader, slot_bytes,
                     until)

MAX_MESSAGE = 64 * 1024
MOST_FDS = 253
# The greeting, the loader and the epoch have a request and an answer each. More
# messages may follow.
MESSAGES = 6


class Relay:
    """Passes messages between clients in this process and a daemon.

    Attributes:
      cut: how many messages the first session passes before it ends.
      passed: messages of the first session so far, both ways.
      sessions: how many sessions there were.
      was_cut: whether the first session has ended at the cut.
    """

    def __init__(self, folder, daemon, cut=None, rewrite=None,
                 before_cut=lambda: None):
        """
        Args:
          folder: pathlib.Path; session.sock is made there.
          daemon: a Daemon.
          cut: the attribute.
          before_cut: is called before the cut.
          rewrite: function that changes the bytes of each greeting from the second
            session on.
        """
        self._daemon = str(daemon.runtime_dir / "session.sock")
        self.cut = cut
        self._rewrite, self._before_cut = rewrite, before_cut
        self.passed = self.sessions = 0
        self.was_cut = False
        folder.mkdir(mode=0o700, exist_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(str(folder / "session.sock"))
        self._listening.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # the socket was shut down
                return
            self.sessions += 1
            session = threading.Thread(target=self._relay,
                                       args=(client, self.sessions))
            self._threads.append(session)
            session.start()

    def _relay(self, client, number):
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with client, daemon:
            daemon.connect(self._daemon)
            cut = self._pass_messages(client, daemon, number)
        self.was_cut |= cut

    def _pass_messages(self, client, daemon, number):
        """Returns whether the cut ended the session."""
        while True:
            if number == 1 and self.passed == self.cut:
                self._before_cut()
                return True
            ready, _, _ = select.select([client, daemon], [], [])
            from_client = ready[0] is client
            data, fds, _, _ = socket.recv_fds(ready[0], MAX_MESSAGE,
                                              MOST_FDS)
            if not data:
                return False
            if from_client and number > 1 and self._rewrite:
                data = self._rewrite(data)
            to = daemon if from_client else client
            to.sendmsg([data], [(
                socket.SOL_SOCKET, socket.SCM_RIGHTS,
                struct.pack(f"{len(fds)}i", *fds))] if fds else [])
            for fd in fds:
                os.close(fd)
            self.passed += number == 1

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(PATIENCE)


@pytest.fixture
def relayed(daemon, tmp_path, monkeypatch):
    """A function that makes a relay and lets clients connect to it."""
    made = []

    def make(**arguments):
        folder = tmp_path / f"relay-{len(made)}"
        made.append(Relay(folder, daemon, **arguments))
        monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(folder))
        return made[-1]

    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))
    yield make
    for relay in made:
        relay.close()


@pytest.mark.parametrize("cut", range(2, MESSAGES + 1))
def test_cut_at_any_message(relayed, photos, cut):
    """The cut comes after the answer to the greeting: without that answer, a client has
    not found a daemon."""
    relay = relayed()
    with open_loader(photos, shuffle=True) as loader:
        images, ids = contents(loader)
    assert relay.passed >= MESSAGES
    relay = relayed(cut=cut)
    # Each image is a batch, so that there are more batches than a loader has slots.
    with open_loader(photos, shuffle=True, batch_size=1) as loader:
        batches = iter(loader)
        first, first_ids = contents([next(batches)])
        until(lambda: relay.was_cut, "the first session is cut")
        rest, rest_ids = contents(batches)
        got, got_ids = numpy.concatenate([first, rest]), first_ids + rest_ids
    assert relay.sessions == 2
    assert got_ids == ids
    numpy.testing.assert_array_equal(got, images)


def loaders(daemon):
    """Returns all loaders as the daemon lists them."""
    return [loader for job in ctl(daemon, "jobs")["jobs"]
            for loader in job["loaders"]]


def await_untaken(daemon):
    """Waits until the daemon has published batches."""
    until(lambda: any(loader["queues"]["slots_ready"]
                      for loader in loaders(daemon)), "batches are published")


def test_a_daemon_that_lives_gets_back_what_nobody_took(relayed, daemon, photos):
    """The daemon starts the epoch, but meanwhile the client opens another session, as
    after a pause of the daemon."""
    relay = relayed(before_cut=lambda: await_untaken(daemon))
    with open_loader(photos, shuffle=True) as loader:
        batches = iter(loader)
        held = next(batches)
        kept = numpy.array(held.image)
        for _ in batches:
            pass
        relay.cut = relay.passed + 1
        loader.set_epoch(0)
        images, _ = contents(loader)
        assert relay.sessions == 2
        assert len(loaders(daemon)) == 2
        numpy.testing.assert_array_equal(held.image, kept)
        numpy.testing.assert_array_equal(images[:len(kept)], kept)
        del held
        until(lambda: len(loaders(daemon)) == 1, "the old one goes")
    until(lambda: slot_bytes(daemon) == 0, "the new one goes")


def test_so_it_does_when_it_is_not_told_of_the_end(relayed, daemon, photos):
    relay = relayed()
    loader = open_loader(photos)
    batches = iter(loader)
    next(batches)
    await_untaken(daemon)
    relay.cut = relay.passed + 1
    loader.close()
    until(lambda: slot_bytes(daemon) == 0, "the loader goes")


def test_so_it_does_of_a_batch_whose_slot_is_not_known(relayed, daemon, photos):
    """A slot was made in mid-epoch. The client asks for it when it takes the slot's
    first batch."""
    relay = relayed(cut=MESSAGES + 1)
    with open_loader(photos) as loader, open_loader(photos) as behind:
        batches, late = iter(loader), iter(behind)
        next(late)
        _, ids = contents(batches)
        assert ids == list(range(len(ids)))
        assert relay.sessions == 3, "no slot was asked for"
        until(lambda: len(loaders(daemon)) == 2, "the old one goes")


def test_an_upgraded_daemon_may_speak_another_protocol(relayed, photos):
    def of_another_version(data):
        request = messages()[1].ClientMessage()
        request.ParseFromString(data)
        if request.HasField("hello"):
            request.hello.protocol_version = 99
        return request.SerializeToString()

    relayed(cut=MESSAGES, rewrite=of_another_version)
    with open_loader(photos, batch_size=1) as loader:
        with pytest.raises(forebay.StateError,
                           match="protocol version 99.*upgrade the older"):
            list(loader)
