"""Packs a wheel: the Python package, its library, the programs, and the shared
libraries that the programs need and a host may lack.

Equal inputs give equal bytes. The wheel has the version of proto/version.h.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import time
import zipfile

from wheel.wheelfile import WheelFile

TAG = "py3-none-manylinux_2_35_x86_64"
# The libraries that PEP 600 expects on every host.
OF_THE_HOST = re.compile(
    r"(linux-vdso|ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libutil|"
    r"libresolv|libstdc\+\+|libgcc_s)\.so\b")
# The modification time of all files: the earliest that a zip archive allows (1980).
EPOCH = 315532800
METADATA = """\
Metadata-Version: 2.1
Name: forebay
Version: {version}
Summary: One daemon a host reads, caches, decodes and augments training data \
for every job on it
Platform: linux_x86_64
Requires-Python: >=3.9
Requires-Dist: numpy
License: Apache-2.0
Description-Content-Type: text/markdown

{description}"""
WHEEL = """\
Wheel-Version: 1.0
Generator: forebay
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """\
[console_scripts]
forebayctl = forebay._programs:forebayctl
forebayd = forebay._programs:forebayd

[fsspec.specs]
forebay = forebay.filesystem:ForebayFileSystem
"""


class Wheel:
    """The files of a wheel, by their paths in it."""

    def __init__(self):
        self._files = {}

    def add(self, path, content, executable=False):
        assert path not in self._files, path
        self._files[path] = content, 0o755 if executable else 0o644

    def add_binary(self, path, source):
        """Adds a program or library without the symbols that no linker needs."""
        with tempfile.TemporaryDirectory() as folder:
            stripped = os.path.join(folder, "stripped")
            subprocess.run(["strip", "--strip-unneeded", "-o", stripped, source],
                           check=True)
            with open(stripped, "rb") as file:
                self.add(path, file.read(), executable=True)

    def write(self, path):
        """Writes the wheel, its files sorted by path. WheelFile adds RECORD."""
        with WheelFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, (content, mode) in sorted(self._files.items()):
                entry = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)


def needed(program):
    """Returns the libraries that a program loads: a dict from names to paths."""
    said = subprocess.run(["ldd", program], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    if "not found" in said:
        raise SystemExit(f"{program}: {said}")
    return dict(re.findall(r"^\s*(\S+) => (\S+)", said, re.MULTILINE))


def carried(programs):
    """Returns the libraries that the wheel must contain: a dict from names to paths."""
    found = {}
    for program in programs:
        found.update(needed(program))
    return {name: path for name, path in found.items()
            if not OF_THE_HOST.match(name)}


def package_of(path):
    """Returns the name of the Debian package that a library comes from."""
    # dpkg may know the library by its path before or after /lib became /usr/lib.
    real = os.path.realpath(path)
    for known in (real, real.replace("/usr/lib/", "/lib/", 1)):
        said = subprocess.run(["dpkg-query", "-S", known],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if said.returncode == 0:
            return said.stdout.decode().split(":")[0]
    raise SystemExit(f"{path} is of no Debian package")


def licence_of(package):
    """Returns the bytes of a package's copyright file, which has its licences."""
    return pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()


def listed(path):
    """Reads runtime_packages.txt.

    Returns:
      A dict from package names to their linkage, "static" or "shared".

    Raises:
      SystemExit: a line is malformed, or a licence does not allow the linkage.
    """
    packages = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        package, linkage, licence = line.split(maxsplit=2)
        if linkage not in ("static", "shared"):
            raise SystemExit(f"{package}: linkage {linkage}: write static or shared")
        if not allowed(licence, linkage):
            raise SystemExit(f"{package}: {licence} does not allow {linkage} linkage")
        packages[package] = linkage
    return packages


def allowed(licence, linkage):
    """Returns whether a licence allows code that is linked in this way in a wheel
    under Apache-2.0.

    The GPL does not allow that, unless the licence has an exception or offers a
    choice. The LGPL allows shared libraries, because users can replace these.

    Args:
      licence: an SPDX expression of OR and AND, without parentheses.
      linkage: "static" or "shared".
    """
    def permits(one):
        is_lesser = one.startswith("LGPL")
        is_copyleft = "GPL" in one and " WITH " not in one
        return not is_copyleft or (is_lesser and linkage == "shared")
    return any(all(map(permits, choice.split(" AND ")))
               for choice in licence.split(" OR "))


def check_carried(packages, libraries):
    """Raises SystemExit unless each library of the wheel comes from a package that is
    listed as shared.

    Args:
      packages: as listed() returns them.
      libraries: a dict of library names to their packages.
    """
    for name, package in sorted(libraries.items()):
        if packages.get(package) != "shared":
            raise SystemExit(f"{name} is of {package}, which runtime_packages.txt "
                             "does not list as shared: add it, with its licence")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, metavar="FOLDER")
    parser.add_argument("inputs", nargs="+", metavar="FILE")
    args = parser.parse_args()
    by_name = {os.path.basename(path): path for path in args.inputs}
    version = re.search(
        r'kVersion\[\] = "([^"]+)"',
        pathlib.Path(by_name["version.h"]).read_text()).group(1)

    wheel = Wheel()
    for path in args.inputs:
        _, found, below = path.partition("client/python/forebay/")
        if found:
            wheel.add("forebay/" + below, pathlib.Path(path).read_bytes())
    for name in ("libforebay.so", "_cbatch_reader.abi3.so", "libforebay_cuda.so"):
        if name in by_name or name != "libforebay_cuda.so":
            wheel.add_binary("forebay/" + name, by_name[name])

    programs = {name: by_name[name + "_portable"]
                for name in ("forebayd", "forebayctl")}
    for name, path in programs.items():
        wheel.add_binary("forebay/programs/" + name, path)
    libraries = carried(programs.values())
    for name, path in libraries.items():
        wheel.add_binary("forebay/programs/lib/" + name, path)

    info = f"forebay-{version}.dist-info"
    packages = listed(by_name["runtime_packages.txt"])
    origins = {name: package_of(path) for name, path in libraries.items()}
    check_carried(packages, origins)
    for package, linkage in packages.items():
        if linkage == "shared" and package not in origins.values():
            continue
        wheel.add(f"{info}/licenses/{package}.txt", licence_of(package))
    for name in ("LICENSE", "NOTICE"):
        wheel.add(f"{info}/licenses/{name}", pathlib.Path(by_name[name]).read_bytes())
    wheel.add(f"{info}/METADATA", METADATA.format(
        version=version,
        description=pathlib.Path(by_name["README.md"]).read_text()).encode())
    wheel.add(f"{info}/WHEEL", WHEEL.format(tag=TAG).encode())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    os.environ["SOURCE_DATE_EPOCH"] = str(EPOCH)  # for WheelFile's entry RECORD
    wheel.write(os.path.join(args.output, f"forebay-{version}-{TAG}.whl"))


if __name__ == "__main__":
    main()
