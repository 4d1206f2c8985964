"""The virtual environment of the other loaders, in .cache/peers.

The environment has the packages that tools/peers.txt lists. Beside it lie unpacked
Debian packages that these packages need and the host lacks. The environment's programs
see Debian's torch. Making it needs no root.
"""

import os
import pathlib
import shutil
import subprocess

from daemon import ROOT

LIST = ROOT / "tools" / "peers.txt"
PLACE = ROOT / ".cache" / "peers"
PYTHON = PLACE / "bin" / "python"
# FFmpeg is for SPDL; libjpeg-turbo and OpenCV's headers are for FFCV.
PACKAGES = ("libavdevice59", "libturbojpeg0-dev", "libopencv-imgproc-dev")
SOURCES = ("ffcv",)  # packages of the list that are built here
_UNPACKED = PLACE / "debian"
_LIBRARIES = _UNPACKED / "usr" / "lib" / "x86_64-linux-gnu"
# The parts of OpenCV that FFCV uses. The host has their libraries, because torch needs
# them.
_OPENCV = """\
Name: OpenCV
Description: resizing
Version: 4.6
Libs: -l:libopencv_imgproc.so.406 -l:libopencv_core.so.406
Cflags: -I{place}/headers -I{unpacked}/usr/include/opencv4 -I/usr/include/opencv4
"""
_TURBOJPEG = """\
Name: libturbojpeg
Description: JPEG
Version: 2.1
Libs: -L{libraries} -lturbojpeg
Cflags: -I{unpacked}/usr/include
"""


def variables():
    """Returns the environment variables of the programs: a dict."""
    return dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                PYTHONPATH=str(pathlib.Path(__file__).parent),
                LD_LIBRARY_PATH=f"{_LIBRARIES}:{_LIBRARIES}/pulseaudio")


def make():
    """Makes the environment, unless it is there and agrees with the list. Returns why
    FFCV could not be built, or None.

    Raises:
      RuntimeError: something else could not be installed; the message has the end of
        the output.
    """
    marker, failure = PLACE / LIST.name, PLACE / "ffcv.failed"
    if marker.exists() and marker.read_text() == LIST.read_text():
        return failure.read_text() if failure.exists() else None
    print("  making .cache/peers ...", flush=True)
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    _unpack()
    _say("/usr/bin/python3", "-m", "venv", "--without-pip",
         "--system-site-packages", str(PLACE))
    wheels, sources = _divided(LIST.read_text())
    _install(wheels, "--only-binary=:all:")
    try:
        _build(sources)
    except RuntimeError as error:
        failure.write_text(str(error))
    marker.write_text(LIST.read_text())
    return failure.read_text() if failure.exists() else None


def versions():
    """Returns the installed packages: a dict of versions by name."""
    asked = subprocess.run(
        [str(PYTHON), "-c",
         "from importlib.metadata import distributions as all\n"
         "for one in all():\n"
         "  print(one.metadata['Name'].lower().replace('_', '-'), one.version)"],
        check=True, stdout=subprocess.PIPE, universal_newlines=True)
    # If a package is listed twice, the first one is imported.
    found = dict(line.split() for line in reversed(asked.stdout.splitlines()))
    # Debian's packages do not tell their versions themselves.
    for name in ("torch", "torchvision"):
        found[name] = _say("dpkg-query", "--show", "--showformat=${Version}",
                           f"python3-{name}")
    return found


def _say(*command, **options):
    """Runs a program, and shows its output only if it fails."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, universal_newlines=True, **options)
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-12:])
        raise RuntimeError(f"{command[0]} failed:\n{tail}")
    return done.stdout


def _unpack():
    """Unpacks the Debian packages that the host lacks, and those that they need."""
    wanted = _say("apt-get", "install", "--simulate", "--no-install-recommends",
                  *PACKAGES)
    missing = [line.split()[1] for line in wanted.splitlines()
               if line.startswith("Inst ")]
    packed = PLACE / "packed"
    packed.mkdir()
    if missing:
        # By default apt-get downloads as another user, who may not write here.
        _say("apt-get", "-o", "APT::Sandbox::User=root", "download", *missing,
             cwd=packed)
    for package in packed.glob("*.deb"):
        _say("dpkg-deb", "--extract", str(package), str(_UNPACKED))


def _divided(text):
    """Returns the requirements of a list in two lists: wheels, and source packages."""
    lines = text.replace("\\\n", " ").splitlines()
    found = [line for line in lines if line and not line.startswith("#")]
    return ([one for one in found if not one.startswith(SOURCES)],
            [one for one in found if one.startswith(SOURCES)])


def _install(requirements, *options, **more):
    named = PLACE / "requirements.txt"
    named.write_text("\n".join(requirements) + "\n")
    # The host's pip installs into the environment.
    _say(str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps",
         "--ignore-installed", "--require-hashes", "--disable-pip-version-check",
         f"--requirement={named}", *options, **more)


def _build(requirements):
    """Builds FFCV with the unpacked packages."""
    place = {"place": PLACE, "unpacked": _UNPACKED, "libraries": _LIBRARIES}
    header = PLACE / "headers" / "opencv2" / "opencv.hpp"
    header.parent.mkdir(parents=True)
    header.write_text('#include "opencv2/imgproc.hpp"\n')
    described = PLACE / "pkgconfig"
    described.mkdir()
    (described / "opencv4.pc").write_text(_OPENCV.format(**place))
    (described / "libturbojpeg.pc").write_text(_TURBOJPEG.format(**place))
    _install(requirements, "--no-build-isolation", "--no-binary=:all:",
             env=dict(os.environ, PKG_CONFIG_PATH=str(described)))
