"""A copy of a checkout, into which faults are planted, and its sources."""

import contextlib
import fcntl
import filecmp
import os
import pathlib
import shutil
import subprocess


def listed(tree):
    """Returns the paths, relative to a checkout, of files that Git has or would add."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"],
        cwd=tree, check=True, stdout=subprocess.PIPE).stdout.decode()
    return sorted({name for name in names.split("\0")
                   if name and not name.endswith("/")
                   and os.path.lexists(os.path.join(tree, name))})


def read(path):
    """Returns a source's text with its line ends unchanged."""
    return path.read_bytes().decode()


@contextlib.contextmanager
def locked(work):
    """Locks a folder of copies against other runs.

    Raises:
      BlockingIOError: another run uses the folder.
    """
    work.mkdir(parents=True, exist_ok=True)
    with open(work / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


class ScratchTree:
    """A copy of a checkout. Files that are equal already are not written again, so that
    Bazel need not read them again."""

    def __init__(self, tree, folder):
        self.folder = pathlib.Path(folder)
        names = listed(tree)
        for name in names:
            _copy(pathlib.Path(tree, name), self.folder / name)
        self._remove_others(set(names))

    def _remove_others(self, names):
        for folder, folders, files in os.walk(self.folder, topdown=False):
            for name in files + folders:
                path = pathlib.Path(folder, name)
                relative = str(path.relative_to(self.folder))
                if path.is_dir() and not path.is_symlink():
                    if not any(path.iterdir()):
                        path.rmdir()
                elif relative not in names:
                    path.unlink()

    @contextlib.contextmanager
    def planted(self, mutant):
        """Plants a mutant into its file, which is restored at the end of the `with`
        block."""
        path = self.folder / mutant.file
        whole = path.read_bytes()
        text = mutant.planted(whole.decode()).encode()
        try:
            path.write_bytes(text)
            yield
        finally:
            path.write_bytes(whole)


def _copy(source, target):
    if source.is_symlink():
        if target.is_symlink() and os.readlink(target) == os.readlink(source):
            return
    elif (target.is_file() and not target.is_symlink() and
          filecmp.cmp(source, target, shallow=False) and
          source.stat().st_mode == target.stat().st_mode):
        return
    if os.path.lexists(target):
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)
