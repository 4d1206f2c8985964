"""Runs clang-tidy and clang's thread-safety analysis on all C++ of the tree.

A translation unit without findings is not checked again until the unit, a header that
it includes, the configuration or the compiler changes.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import together
import tree

CLANG_TIDY = "clang-tidy-16"
FLAGS = [
    "-x", "c++", "-std=c++20", "-I.", "-isystem", "bazel-bin",
    "-Wall", "-Wextra", "-Wno-sign-compare", "-Wno-pragma-once-outside-header",
    "-Wold-style-cast", "-Wthread-safety", "-Werror=thread-safety",
    "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL", "-DSPDLOG_SHARED_LIB",
]
# The headers of the C interface, which are compiled as C, without the lint of C++.
C_HEADERS = {"client/forebay.h", "client/forebay_dataset.h",
             "client/forebay_object.h", "client/forebay_producer.h",
             "client/forebay_reader.h", "client/forebay_tensor.h"}
# Files that include cuda.h are checked only if the CUDA toolkit is installed.
TOOLKIT = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                       "include")
TOOLKIT_HEADER = re.compile(rb"^#include <cuda\.h>", re.MULTILINE)
CACHE = tree.ROOT / ".cache" / "tidy"
WORKERS = len(os.sched_getaffinity(0))
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def translation_units():
    """Returns the paths of all .cc files, and of headers without such a .cc file."""
    sources = tree.files(".cc")
    known = set(sources)
    alone = [header for header in tree.files(".h")
             if header[:-len(".h")] + ".cc" not in known]
    return sources + alone


@functools.lru_cache(maxsize=None)
def _content(path):
    for base in (tree.ROOT, tree.ROOT / "bazel-bin"):
        try:
            return (base / path).read_bytes()
        except OSError:
            continue
    return None


@functools.lru_cache(maxsize=None)
def _includes(path):
    content = _content(path)
    if content is None:
        return ()
    beside = os.path.dirname(path)
    return tuple(name for found in INCLUDE.findall(content)
                 for name in (found.decode(),
                              os.path.join(beside, found.decode()))
                 if _content(name) is not None)


def reached(path):
    """Returns the unit and all headers of this project that it includes."""
    seen, waiting = {path}, [path]
    while waiting:
        for name in _includes(waiting.pop()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return sorted(seen)


def needs_toolkit(path):
    """Returns whether the unit needs CUDA's headers."""
    return any(TOOLKIT_HEADER.search(_content(name)) for name in reached(path))


@functools.lru_cache(maxsize=None)
def _settings():
    version = subprocess.run([CLANG_TIDY, "--version"], check=True,
                             stdout=subprocess.PIPE).stdout
    packages = (tree.ROOT / "tools" / "packages.txt").read_bytes()
    config = (tree.ROOT / ".clang-tidy").read_bytes()
    return hashlib.sha256(
        b"\0".join([version, packages, config, " ".join(FLAGS).encode()])
    ).digest()


def key(path):
    """Returns a digest of everything that the findings of a unit depend on."""
    digest = hashlib.sha256(_settings())
    for name in reached(path):
        content = hashlib.sha256(_content(name)).digest()
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def _findings(command):
    """Runs a command of clang's. Returns its findings as text, empty if it has none."""
    done = subprocess.run(command, cwd=tree.ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode == 0:
        return ""
    text = done.stdout.decode("utf-8", "replace")
    return text if text.strip() else done.stderr.decode("utf-8", "replace")


def check(path):
    """Checks one unit alone. Returns its findings as text, empty if there are none."""
    command = [CLANG_TIDY, "--quiet", path, "--"] + FLAGS
    if path.endswith(".h"):
        # A header is linted with the units that include it. Here it has to compile by
        # itself.
        command = ["clang++-16", "-fsyntax-only", "-Werror"] + FLAGS + [path]
    if needs_toolkit(path):
        command += ["-isystem", str(TOOLKIT)]
    if path in C_HEADERS:
        command = ["clang-16", "-x", "c", "-std=c11", "-I.", "-fsyntax-only",
                   "-Wall", "-Wextra", "-Werror", path]
    return _findings(command)


def is_clean(bunch):
    """Checks several units at once. Returns whether none of them has a finding."""
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        path = pathlib.Path(folder, "bunch.cc")
        path.write_text(together.text(bunch))
        return not _findings([CLANG_TIDY, "--quiet", str(path), "--"] + FLAGS)


def write_compile_commands(units):
    """Writes compile_commands.json, for editors."""
    commands = [{"directory": str(tree.ROOT), "file": unit,
                 "arguments": ["clang++-16"] + FLAGS + ["-c", unit]}
                for unit in units]
    target = tree.ROOT / "compile_commands.json"
    target.write_text(json.dumps(commands, indent=1) + "\n")


def _distinct(findings):
    """Returns the lines of all findings, each finding once, and the number of findings.
    Every unit that includes a header repeats the header's findings."""
    head = re.compile(r"^\S[^\n]*:\d+:\d+: (?:error|warning): ")
    seen, current, keep = set(), [], True
    for line in "".join(findings).splitlines():
        line = line.replace(str(tree.ROOT) + "/", "").removeprefix("./")
        if head.match(line):
            keep = line not in seen
            seen.add(line)
        if keep:
            current.append(line)
    return current, len(seen)


def bunches(due):
    """Returns bunches of the units in `due` that can be checked together."""
    headers = set(tree.files(".h"))
    return together.bunches(
        [together.Unit(path, _content(path).decode(),
                       path[:-len(".cc")] + ".h" in headers)
         for path in due if path.endswith(".cc") and not needs_toolkit(path)],
        WORKERS)


def look_at(function, tasks):
    """Calls a function on each task, on WORKERS threads. Yields each task, its result
    and its seconds, in the order in which the calls end."""
    def timed(task):
        begin = time.monotonic()
        return task, function(task), time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        running = [pool.submit(timed, task) for task in tasks]
        for done in concurrent.futures.as_completed(running):
            yield done.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="*", help="units; default: all")
    parser.add_argument("--slowest", type=int, default=0, metavar="N",
                        help="also name the N looks that took longest")
    args = parser.parse_args()

    units = translation_units()
    write_compile_commands(units)
    if args.path:
        wanted = [str(pathlib.PurePath(path)) for path in args.path]
        units = [unit for unit in units
                 if any(unit == path or unit.startswith(path + "/")
                        for path in wanted)]
    if not (TOOLKIT / "cuda.h").exists():
        units = [unit for unit in units if not needs_toolkit(unit)]
    CACHE.mkdir(parents=True, exist_ok=True)
    keys = {unit: key(unit) for unit in units}
    due = [unit for unit in units if not (CACHE / keys[unit]).exists()]

    clean, findings, seconds = set(), [], {}
    for bunch, nothing, took in look_at(is_clean, bunches(due)):
        paths = [unit.path for unit in bunch]
        seconds[", ".join(paths)] = took
        if nothing:
            clean.update(paths)
            for path in paths:
                (CACHE / keys[path]).touch()
    for unit, text, took in look_at(check, [unit for unit in due
                                            if unit not in clean]):
        seconds[unit] = took
        if text:
            findings.append(text)
        else:
            (CACHE / keys[unit]).touch()
    lines, count = _distinct(findings)
    print("\n".join(lines))
    for look in sorted(seconds, key=seconds.get)[:-args.slowest - 1:-1]:
        print(f"{seconds[look]:6.1f} s  {look}")
    print(f"{len(units)} units, {len(due)} new, {count} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
