"""Lists the files of the checkout that are checked."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CC_SUFFIXES = (".cc", ".h")


def files(*suffixes):
    """Returns the paths of all files that git tracks or would add.

    Args:
      *suffixes: how names must end; none: every file.

    Returns:
      A sorted list of strings, relative to ROOT.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode()
    return sorted({
        name for name in listed.split("\0")
        if name and (ROOT / name).is_file()
        and (not suffixes or name.endswith(suffixes))})


def shell_scripts():
    """Returns the paths of files whose first line names a shell, or that end in .sh."""
    return _with_interpreter("sh", (".sh",))


def python_files():
    """Returns the paths of files whose first line names Python, or that end in .py."""
    return _with_interpreter("python3", (".py",))


def _with_interpreter(name, suffixes):
    found = []
    for path in files():
        if path.endswith(suffixes):
            found.append(path)
        elif "." not in path.rsplit("/", 1)[-1] or path.startswith("."):
            with open(ROOT / path, "rb") as file:
                first = file.readline(100).decode("utf-8", "replace")
            if first.startswith("#!") and first.rstrip().endswith(name):
                found.append(path)
    return found
