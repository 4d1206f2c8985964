"""Which packages a wheel may contain, and how they may be linked."""

import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[4] / "deploy" / "wheel"
sys.path.append(str(FOLDER))
build = __import__("build")


@pytest.mark.parametrize("licence, static, shared", [
    ("MIT", True, True),
    ("GPL-2.0-or-later", False, False),
    ("LGPL-2.1-or-later", False, True),
    ("LGPL-3.0-or-later OR GPL-2.0-or-later", False, True),
    ("BSD-3-Clause OR GPL-2.0-only", True, True),
    ("GPL-3.0-or-later WITH GCC-exception-3.1", True, True),
    ("MIT AND GPL-2.0-only", False, False),
    ("MIT AND LGPL-2.1-only OR Zlib AND MIT", True, True),
])
def test_licences_and_linkages(licence, static, shared):
    assert build.allowed(licence, "static") == static
    assert build.allowed(licence, "shared") == shared


def test_the_list_is_sound():
    packages = build.listed(FOLDER / "runtime_packages.txt")
    assert packages["libgrpc-dev"] == "static"
    assert packages["libsndfile1"] == "shared"
    assert "libjbig-dev" not in packages and "libjbig0" not in packages


@pytest.mark.parametrize("line, words", [
    ("libjbig-dev static GPL-2.0-or-later", "does not allow static linkage"),
    ("libsndfile1 static LGPL-2.1-or-later", "does not allow static linkage"),
    ("libc6 linked MIT", "write static or shared"),
])
def test_a_list_is_refused(line, words, tmp_path):
    path = tmp_path / "packages.txt"
    path.write_text(f"# Packages.\n\n{line}\n")
    with pytest.raises(SystemExit, match=words):
        build.listed(path)


def test_a_library_of_an_unlisted_package_is_refused():
    packages = {"libcurl4": "shared", "libpng-dev": "static"}
    build.check_carried(packages, {"libcurl.so.4": "libcurl4"})
    for package in ("libjbig0", "libpng-dev"):
        with pytest.raises(SystemExit, match=f"{package}, which"):
            build.check_carried(packages, {"libx.so.1": package})
