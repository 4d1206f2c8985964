"""A disk that hangs on demand: ext4 on a loop device over a file of a HungMount.

    with HungDisk(source, folder) as disk:
        disk.stop()           # from now on, reads of files wait
        ...
        disk.await_held()
        disk.go()

The daemon treats this kind of file system as local.
"""

import contextlib
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import hung_mount

SLACK = 16 << 20  # bytes of the file system besides its files' content
BLOCK = 4096


def _run(*command):
    """Runs a command, and returns its output.

    Raises:
      OSError: the command failed; the message is its error output.
    """
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        raise OSError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def _make_image(source, image):
    sizes = [(path.stat().st_size + BLOCK - 1) // BLOCK * BLOCK
             for path in pathlib.Path(source).rglob("*")]
    with open(image, "wb") as file:
        file.truncate(2 * sum(sizes) + SLACK)
    with tempfile.TemporaryDirectory() as root:  # gets a folder lost+found
        shutil.copytree(source, os.path.join(root, "data"))
        _run("mkfs.ext4", "-q", "-d", root, image)


class HungDisk:
    """A mounted disk, read-only; a context manager. For one thread.

    When its owner dies, the disk is unmounted, and all processes that wait for it get
    an error.

    Attributes:
      path: pathlib.Path of the directory on the disk.
    """

    def __init__(self, source, folder):
        """
        Args:
          source: the directory whose files are on the disk.
          folder: a folder for everything that the disk needs; made if needed.

        Raises:
          OSError: the disk cannot be made, or mounted.
        """
        folder = pathlib.Path(folder)
        (folder / "image").mkdir(parents=True)
        disk = folder / "disk"
        disk.mkdir()
        self.path = disk / "data"
        _make_image(source, folder / "image" / "disk")
        self._mount = hung_mount.HungMount(folder / "image", folder / "image-mount",
                                           valid_seconds=3600)
        try:
            self._mount.unmount_at_end(disk)
            # The loop device is removed with its mount.
            _run("mount", "-t", "ext4", "-o", "ro,noload,loop",
                 folder / "image-mount" / "disk", disk)
        except BaseException:
            self._mount.close()
            raise
        self._image = folder / "image-mount" / "disk"
        self.go = self._mount.go
        self.held, self.await_held = self._mount.held, self._mount.await_held

    def stop(self):
        """From now on, reads wait. Also drops the disk's pages from the page cache."""
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context(path.open("rb"))
                     for path in (*self.path.rglob("*"), self._image)
                     if path.is_file()]
            self._mount.stop("read")
            for file in files:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self):
        """Unmounts the disk. Processes that wait for it get an error."""
        self._mount.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@functools.lru_cache(maxsize=None)
def missing():
    """Returns why there can be no such disk here, or "" if there can be."""
    if hung_mount.missing():
        return hung_mount.missing()
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "source")
        os.mkdir(source)
        try:
            HungDisk(source, os.path.join(folder, "disk")).close()
        except OSError as error:
            return f"no disk can be made of a file: {error}"
    return ""
