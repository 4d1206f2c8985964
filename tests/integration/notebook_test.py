"""Loaders in a Jupyter kernel: cells, interrupts, and outputs that keep their
batches."""

import ast
import os
import signal

import jupyter_client
import numpy
import pytest

from test_client_batches import reference
from trouble import PATIENCE, nothing_left_behind

BEGIN = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import forebay
import numpy
from trouble import contents, open_loader
loader = open_loader(PHOTOS, shuffle=True)
"""
READ_ON_AND_ON = """
while True:
    for number, batch in enumerate(loader):
        if number == 5:
            print("reads", flush=True)
"""


class CellError(Exception):
    """The error that a cell raised: the exception's name and its text."""


class Notebook:
    """A kernel, used as by somebody who types cells."""

    def __init__(self, manager, client, photos):
        self.manager = manager
        self._client = client
        self._photos = str(photos)

    def begin(self):
        """Waits until the kernel is ready, and opens a loader in it."""
        self._client.wait_for_ready(timeout=PATIENCE)
        self.run(BEGIN.replace("PHOTOS", repr(self._photos)))

    def start(self, cell):
        """Runs a cell without waiting for it. An error does not cancel cells that were
        started later."""
        return self._client.execute(cell, allow_stdin=False,
                                    stop_on_error=False)

    def await_print(self, request):
        """Waits until a cell prints something."""
        while True:
            message = self._client.get_iopub_msg(timeout=PATIENCE)
            if (message["msg_type"] == "stream" and
                    message["parent_header"]["msg_id"] == request):
                return

    def end(self, request):
        """Waits for the end of a cell.

        Raises:
          CellError: the cell raised an error.
        """
        while True:
            reply = self._client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"]["msg_id"] == request:
                break
        content = reply["content"]
        if content["status"] != "ok":
            raise CellError(content["ename"], content["evalue"])

    def run(self, cell):
        self.end(self.start(cell))

    def value(self, expression):
        """Returns the value of an expression that consists of plain values."""
        reply = self._client.execute(
            "", user_expressions={"value": expression}, reply=True,
            allow_stdin=False, timeout=PATIENCE)
        value = reply["content"]["user_expressions"]["value"]
        assert value["status"] == "ok", value
        return ast.literal_eval(value["data"]["text/plain"])

    def save(self, expression, path):
        """Returns an array of the kernel, which is saved to the file `path` for
        this."""
        self.run(f"numpy.save({str(path)!r}, {expression})")
        return numpy.load(path)


@pytest.fixture
def notebook(daemon, photos, tmp_path, monkeypatch):
    """A notebook that has opened a shuffled loader with batches of 4."""
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR",
                 "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    # TCP is not used, because another process may take the port meanwhile.
    manager = jupyter_client.KernelManager(
        transport="ipc", ip=str(tmp_path / "kernel"))
    with nothing_left_behind(daemon):
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        try:
            opened = Notebook(manager, client, photos)
            opened.begin()
            yield opened
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


@pytest.fixture
def expect_whole_epochs(notebook, photos, tmp_path):
    """A function that reads an epoch in the kernel, and compares it with the
    photographs."""
    images = reference(photos)[0].transpose(0, 3, 1, 2)

    def check():
        notebook.run("images, ids = contents(loader)")
        ids = notebook.value("ids")
        assert sorted(ids) == list(range(len(images)))
        numpy.testing.assert_array_equal(
            notebook.save("images", tmp_path / "images.npy"), images[ids])

    return check


def test_epochs_in_cells(notebook, expect_whole_epochs):
    expect_whole_epochs()
    expect_whole_epochs()
    with pytest.raises(CellError, match="InvalidArgument"):
        notebook.run("loader.set_epoch(-1)")
    expect_whole_epochs()


def test_interrupted_epochs(notebook, expect_whole_epochs):
    for _ in range(3):
        cell = notebook.start(READ_ON_AND_ON)
        notebook.await_print(cell)
        notebook.manager.interrupt_kernel()
        with pytest.raises(CellError, match="KeyboardInterrupt"):
            notebook.end(cell)
        expect_whole_epochs()


def test_interrupted_wait(daemon, notebook, expect_whole_epochs):
    """Ctrl-C ends next()'s wait even while no batch comes."""
    notebook.run("iterator = iter(loader); batch = next(iterator)")
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        cell = notebook.start('print("waits", flush=True)\n'
                              'for batch in iterator: pass')
        notebook.await_print(cell)
        notebook.manager.interrupt_kernel()
        with pytest.raises(CellError, match="KeyboardInterrupt"):
            notebook.end(cell)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    notebook.run("for batch in iterator: pass")
    expect_whole_epochs()


def test_outputs_keep_their_batches(notebook, photos, tmp_path):
    """`Out` holds each batch that a cell shows. The test shows a whole epoch, with
    commands in between."""
    notebook.run("iterator = iter(loader)")
    for _ in range(12):
        notebook.run("next(iterator)")
        notebook.run("!true")
    with pytest.raises(CellError, match="StopIteration"):
        notebook.run("next(iterator)")
    notebook.run("shown = list(Out.values())")
    ids = notebook.value("[int(i) for b in shown for i in b.sample_ids]")
    images = notebook.save("numpy.concatenate([b.image for b in shown])",
                           tmp_path / "shown.npy")
    assert sorted(ids) == list(range(48))
    numpy.testing.assert_array_equal(
        images, reference(photos)[0].transpose(0, 3, 1, 2)[ids])


def test_restarted_kernel(notebook, expect_whole_epochs):
    notebook.run("held = [batch for batch in loader]")
    notebook.manager.restart_kernel(now=True)
    notebook.begin()
    expect_whole_epochs()
