"""The wheel's content. The wheel also runs without anything else installed."""

import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

import gpus
import pytest

from daemons import ROOT
from test_client_autostart import daemons_of
from trouble import PATIENCE, until

DIST = os.environ.get("FOREBAY_WHEEL",
                      str(ROOT / "bazel-bin" / "deploy" / "wheel" / "dist"))
TAG = "py3-none-manylinux_2_35_x86_64"
NOBODY = 65534
PROGRAMS = "forebay/programs/"
CARRIED = PROGRAMS + "lib/"
# The libraries that a wheel may use from the host, by PEP 600.
HOSTS = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1",
         "libpthread.so.0", "libutil.so.1", "libresolv.so.2",
         "ld-linux-x86-64.so.2", "libgcc_s.so.1", "libstdc++.so.6"}
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13),
          "GCC": (12, 0, 0)}


@pytest.fixture(scope="module")
def wheel():
    """pathlib.Path of the wheel, which tools/test or `bazel build --config=portable
    //deploy/wheel:dist` builds."""
    (path,) = glob.glob(os.path.join(DIST, "*.whl"))
    return pathlib.Path(path)


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def binaries(folder):
    """Returns the paths of all ELF files, relative to `folder`."""
    return [path.relative_to(folder) for path in sorted(folder.rglob("*"))
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def said(*command):
    return subprocess.run(command, check=True,
                          stdout=subprocess.PIPE).stdout.decode()


def test_asks_of_the_host_what_every_host_has(unpacked):
    found = binaries(unpacked)
    carried = {path.name for path in found if str(path).startswith(CARRIED)}
    assert len(found) > len(carried) + 3
    for path in found:
        table = said("readelf", "-d", str(unpacked / path))
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", table))
        allowed = HOSTS | carried if str(path).startswith(PROGRAMS) else HOSTS
        assert needed <= allowed, path
        # Our programs bring their own C++ runtime, because hosts have different ones.
        if path.name not in carried:
            assert not needed & {"libstdc++.so.6", "libgcc_s.so.1"}, path
        assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", table) == (
            ["$ORIGIN/lib"] if path.name.startswith("forebayd")
            or path.name == "forebayctl" else []), path


def test_asks_for_no_symbol_that_is_too_new(unpacked):
    for path in binaries(unpacked):
        symbols = said("objdump", "-T", str(unpacked / path))
        for line in symbols.splitlines():
            found = re.search(r"\*UND\*.*\((\w+?)_([0-9.]+)\)", line)
            if found and found.group(1) in NEWEST:
                version = tuple(map(int, found.group(2).split(".")))
                assert version <= NEWEST[found.group(1)], (path, line)


def test_says_what_it_is(wheel, unpacked):
    version = re.search(r'kVersion\[\] = "(.*)"',
                        (ROOT / "proto/version.h").read_text()).group(1)
    assert wheel.name == f"forebay-{version}-{TAG}.whl"
    info = unpacked / f"forebay-{version}.dist-info"
    metadata = (info / "METADATA").read_text()
    assert f"\nVersion: {version}\n" in metadata
    assert "\nLicense: Apache-2.0\n" in metadata
    assert metadata.endswith((ROOT / "README.md").read_text())
    assert f"\nTag: {TAG}\n" in (info / "WHEEL").read_text()
    assert (unpacked / "forebay/py.typed").exists()
    # The wheel must have the licences of all its parts.
    terms = {path.stem: path.read_text() for path in
             (info / "licenses").iterdir()}
    assert set(terms) == {"LICENSE", "NOTICE", *packages_of_the_wheel()}
    assert all("copyright" in text.lower() for text in terms.values())


def packages_of_the_wheel(linkage=""):
    """Returns the names of the packages that runtime_packages.txt lists with that
    linkage."""
    lines = (ROOT / "deploy/wheel/runtime_packages.txt").read_text().splitlines()
    return {line.split()[0] for line in lines
            if line and not line.startswith("#") and linkage in line.split()[1]}


def test_archives_are_of_listed_packages():
    """The programs are linked with these archives of Debian's, except those that the
    project builds itself."""
    text = (ROOT / "tools/bazel/portable/BUILD.bazel").read_text()
    names = re.search(r"_SINGLE = \[(.*?)\]", text, re.DOTALL).group(1)
    names = re.findall(r'"(.+?)"', names)
    for group in re.findall(r"for name in (.*?); do", text):
        names += [name for name in group.split() if name != "%s"]
    assert {"grpc", "tiff", "lzma", "z"} <= set(names) and "jbig" not in names
    folder = pathlib.Path(subprocess.run(
        ["gcc", "-print-file-name=libgrpc.a"], check=True,
        stdout=subprocess.PIPE).stdout.decode()).parent.resolve()
    said = subprocess.run(
        ["dpkg-query", "-S", *(f"{folder}/lib{name}.a" for name in names)],
        check=True, stdout=subprocess.PIPE).stdout.decode()
    owners = {line.split(":")[0] for line in said.splitlines()}
    assert owners <= packages_of_the_wheel("static")


def test_programs_have_no_code_of_jbig_kit(unpacked):
    """JBIG-KIT has the GPL, whose terms are not those of the wheel."""
    for path in (unpacked / "forebay/programs").glob("forebay*"):
        assert b"JBIG-KIT" not in path.read_bytes()
    assert not (unpacked / "forebay/programs/lib/libjbig.so.0").exists()


def test_equal_inputs_give_equal_bytes(wheel, unpacked, tmp_path):
    """Packs the wheel's files twice more, with small programs in the place of ours."""
    inputs = {"version.h": ROOT / "proto/version.h",
              "LICENSE": ROOT / "LICENSE",
              "NOTICE": ROOT / "NOTICE",
              "README.md": ROOT / "README.md",
              "runtime_packages.txt":
                  ROOT / "deploy/wheel/runtime_packages.txt",
              "libforebay.so": unpacked / "forebay/libforebay.so",
              "_cbatch_reader.abi3.so": unpacked / "forebay/_cbatch_reader.abi3.so"}
    for name in ("forebayd", "forebayctl"):
        # The program is small, and needs no library but libc.
        inputs[name + "_portable"] = tmp_path / (name + "_portable")
        shutil.copy(shutil.which("true"), inputs[name + "_portable"])
    packed = []
    for number, names in enumerate((sorted(inputs), reversed(inputs))):
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-B", str(ROOT / "deploy/wheel/build.py"),
             "--output", str(folder)] + [str(inputs[name]) for name in names],
            check=True, env=dict(os.environ, TZ=("UTC", "Asia/Tokyo")[number]))
        (path,) = folder.iterdir()
        packed.append(path.read_bytes())
    assert packed[0] == packed[1]


@pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())
def test_brings_the_gpu_plugin(unpacked, photos, tmp_path):
    """The library finds the plug-in, and so does the daemon that the library starts."""
    for program in ("forebayd", "forebayctl"):
        (unpacked / PROGRAMS / program).chmod(0o755)
    env = {**gpus.Host(tmp_path).environment(), "HOME": str(tmp_path),
           "XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin",
           "PYTHONPATH": f"{unpacked}:{ROOT / 'tests' / 'device'}"}
    del env["FOREBAY_CUDA_PLUGIN"]
    code = ("import sys, torch_stand_in; torch_stand_in.install()\n"
            "import forebay, forebay._daemon\n"
            "from forebay import transforms as T\n"
            "forebay._daemon.IDLE_SECONDS = 0.5\n"
            "batch = next(iter(forebay.DataLoader(\n"
            "    sys.argv[1], batch_size=4, device='cuda:0',\n"
            "    transform=T.CenterCrop(8))))\n"
            "print(batch.image.device, batch.image.cpu().shape)\n")
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code, str(photos)], env=env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=PATIENCE)
    until(lambda: not daemons_of(tmp_path / "forebay"),
          "the daemon leaves when idle")
    assert done.stdout.decode() == "cuda:0 torch.Size([4, 3, 8, 8])\n"


class PlainUser:
    """A user whose home has only a virtual environment. If root runs the tests, the
    user is `nobody`.

    Attributes:
      home: pathlib.Path of the user's home.
    """

    def __init__(self, home):
        self.home = home
        self._as_user = []
        if os.getuid() == 0:
            self._as_user = ["setpriv", f"--reuid={NOBODY}",
                             f"--regid={NOBODY}", "--clear-groups"]
            os.chown(home, NOBODY, NOBODY)

    def run(self, *command):
        """Runs a command as the user, and returns its output."""
        done = subprocess.run(
            [*self._as_user, *map(str, command)], cwd=self.home,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin",
                 "XDG_RUNTIME_DIR": str(self.home)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout.decode()
        return done.stdout.decode()


@pytest.fixture
def user(wheel, photos):
    """A user who has only the wheel and photographs."""
    # The home is outside of pytest's folders, which other users may not enter.
    home = pathlib.Path(tempfile.mkdtemp(prefix="forebay-wheel-"))
    try:
        shutil.copy(wheel, home)
        shutil.copytree(photos, home / "photos")
        for path in home.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield PlainUser(home)
    finally:
        for pid in daemons_of(home / "forebay"):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(home)


def readme_script(folder, before=""):
    """Returns the first script of the README, changed to read `folder`. The daemon that
    it starts leaves soon."""
    text = (ROOT / "README.md").read_text()
    script = re.search(r"```python\n(import forebay\n.*?)```", text,
                       re.DOTALL).group(1)
    assert "/data/train" in script and "    ...\n" in script
    script = script.replace("/data/train", str(folder)).replace(
        "    ...\n", "    seen += len(labels)\n")
    return (f"{before}import forebay._daemon\n"
            "forebay._daemon.IDLE_SECONDS = 0.5\nseen = 0\n" + script +
            "print(seen, type(images).__module__)\n")


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_runs_for_a_plain_user(user, framework):
    environment = user.home / "environment"
    site = ["--system-site-packages"] if framework == "torch" else []
    user.run("/usr/bin/python3", "-m", "venv", "--without-pip", *site,
             environment)
    if framework == "numpy":
        # Links numpy into the environment, as if pip had installed it there.
        (packages,) = (environment / "lib").glob("python3.*/site-packages")
        for path in glob.glob("/usr/lib/python3/dist-packages/numpy*"):
            (packages / os.path.basename(path)).symlink_to(path)
    (wheel,) = user.home.glob("*.whl")
    user.run("/usr/bin/python3", "-m", "pip", "--python",
             environment / "bin/python", "install", "--no-index",
             "--no-cache-dir", "--quiet", wheel)
    script = user.home / "train.py"
    script.write_text(readme_script(
        user.home / "photos",
        "import torch\n" if framework == "torch" else ""))
    directory = user.home / "forebay"
    assert user.run(environment / "bin/python", script).split() == [
        "48", framework]
    # Then there are no clients.
    until(lambda: not daemons_of(directory), "the daemon leaves when idle")
    assert "forebayd leaves" in (directory / "forebayd.log").read_text()
    version = user.run(environment / "bin/forebayd", "--version").split()[1]
    assert version in user.run(environment / "bin/forebayctl", "version")
