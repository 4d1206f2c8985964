"""Checks that includes and BUILD files follow the order of the rooms.

A room includes only headers of rooms below it, and siblings never include each other.
Packages are private by default, and visibility lists name only rooms further up.
"""

import ast
import re
import sys

import tree

# The order of the server's rooms, from the top. Rooms in one list are siblings.
ORDER = [
    ["server/daemon"],
    ["server/session", "server/admin"],
    ["server/job"],
    ["server/stream", "server/fetch"],
    ["server/length_scan"],
    ["server/sample"],
    ["server/dataset", "server/sampler", "server/cache", "server/pipeline",
     "server/slots", "server/worker"],
    ["server/storage", "server/executor", "server/device"],
    ["server/schedule", "server/array", "server/audio"],
    ["server/base"],
    ["cuda"],
    ["proto"],
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
# The order of the client's folders, from the top. "client" itself has the public
# headers, which all of these folders may see, and the libraries that are built.
CLIENT_ORDER = [
    ["client"],
    ["client/abi"],
    ["client/core"],
    ["client/wire", "client/shm", "client/device"],
    ["client/base"],
]
CLIENT_RANK = {room: rank for rank, rooms in enumerate(CLIENT_ORDER)
               for room in rooms}
# The folders beside the rooms, and the parts of the tree that each may see.
BESIDE = {
    "client": {"proto", "tools/bazel"},
    "tools": {"client", "proto", "tools"},
    "deploy": {"client", "cuda", "deploy", "proto", "server/daemon", "tools"},
}
# The client loads plug-ins, too. Its folder PLUGIN_USER may therefore see the table of
# their functions (plugin_abi), and the check of their file (elf_image).
PLUGIN_LOADING = re.compile(r"cuda/(elf_image|plugin_abi)(\.h)?$")
PLUGIN_USER = "client/device"
# The packages whose visibility is public, because nearly all other packages use them.
PUBLIC_PACKAGES = {"proto", "server/base", "tools/bazel",
                   "tools/bazel/portable", "tools/bazel/rules_cc",
                   "tools/bazel/rules_cc/cc",
                   "tools/bazel/remote_coverage_tools", "tools/protoc"}
# The rooms without clocks, threads and files, and the headers of server/base that they
# may see.
PURE = {"server/sampler", "server/schedule"}
PURE_BASE = {"server/base/" + name for name in (
    "check.h", "index_list.h", "philox.h", "status.h")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
EXPORTS = {"visibility", "default_visibility", "exports_files"}


def room_of(path):
    """Returns the room that a path belongs to, or None if it is in none."""
    parts = path.split("/")
    if parts[0] == "server":
        return "/".join(parts[:2])
    if parts[:2] in (["tools", "bazel"], ["tools", "protoc"]):
        return "tools/bazel"
    if "/".join(parts[:2]) in CLIENT_RANK:
        return "/".join(parts[:2])
    if parts[0] in {"client", "cuda", "deploy", "proto", "tests", "tools"}:
        return parts[0]
    return None


def objection(user, used, path=""):
    """Returns why the room `user` may not use `path` of the room `used`; None
    if it may."""
    if user == used or used in (None, "tools/bazel"):
        return None
    if user in (None, "tests"):
        return None
    if used == "tests":
        return "only tests use tests"
    if user in CLIENT_RANK and used in CLIENT_RANK:
        return None if used == "client" else _against(CLIENT_RANK, user, used)
    if user == PLUGIN_USER and PLUGIN_LOADING.match(path):
        return None
    beside = BESIDE.get("client" if user in CLIENT_RANK else user)
    if beside is not None:
        return None if used in beside else f"{user}/ never sees {used}/"
    if used not in RANK:
        return f"{user} never sees {used}/"
    if user not in RANK:
        return f"{user} is a room that tools/lint/layers.py does not know"
    return _against(RANK, user, used)


def _against(rank, user, used):
    if rank[used] < rank[user]:
        return f"{used} is above {user}"
    if rank[used] == rank[user]:
        return f"{used} and {user} are siblings"
    return None


def check_includes(path):
    """Yields the findings in one C++ file."""
    user = room_of(path)
    text = (tree.ROOT / path).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        used = room_of(found.group(1)) if found else None
        why = objection(user, used, found.group(1)) if used else None
        if user in PURE and used == "server/base" and \
                found.group(1) not in PURE_BASE:
            why = f"{user} is pure"
        if why:
            yield f"{path}:{number}: includes {found.group(1)}: {why}"


def _strings(node):
    return [(item.value, item.lineno) for item in ast.walk(node)
            if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _call_name(call):
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else func.id


def labels(path):
    """Yields (call, argument, string, line) of each string in a BUILD file.

    Calls and arguments are names; the argument is None if it has no name. Strings
    of `load` are left out.
    """
    for call in ast.walk(ast.parse((tree.ROOT / path).read_text())):
        if not isinstance(call, ast.Call) or _call_name(call) == "load":
            continue
        values = [(None, value) for value in call.args]
        values += [(keyword.arg, keyword.value) for keyword in call.keywords]
        for argument, value in values:
            for label, line in _strings(value):
                yield _call_name(call), argument, label, line


def check_build(path):
    """Yields the findings in one BUILD file."""
    package = path.rsplit("/", 1)[0] if "/" in path else ""
    user = room_of(path)
    for call, argument, label, line in labels(path):
        if argument not in EXPORTS:
            used = room_of_label(label)
            why = objection(user, used, _path_of(label)) if used else None
            if why:
                yield f"{path}:{line}: depends on {label}: {why}"
        elif call != "cc_binary":  # every package may run a program
            why = _visibility_objection(package, label)
            if why:
                yield f"{path}:{line}: visibility {label}: {why}"


def room_of_label(label):
    """Returns the room of an absolute label, or None if it is in none."""
    if not label.startswith("//"):
        return None
    return room_of(_path_of(label))


def _path_of(label):
    return label[2:].replace(":", "/")


def _visibility_objection(package, label):
    if label == "//visibility:private" or package in PUBLIC_PACKAGES:
        return None
    if label in ("//visibility:public", "//server:__subpackages__"):
        return "name the rooms that use the target"
    viewer = room_of_label(label)
    if viewer == PLUGIN_USER and package == "cuda":
        return None  # its own BUILD file may name such labels alone
    return objection(viewer, room_of(package)) if viewer else None


def main():
    findings = []
    for path in tree.files(*tree.CC_SUFFIXES):
        findings += check_includes(path)
    builds = tree.files("BUILD.bazel")
    for path in builds:
        findings += check_build(path)
    print("\n".join(findings))
    print(f"{len(builds)} packages, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
