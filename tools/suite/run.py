"""Runs the tests of the tree and counts their cases from the JUnit files."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

import junit
import today

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The folders of Python tests. The processes that run tests take files in this order, so
# the folders with the longest tests come first.
PYTEST_FOLDERS = ("tests/crash", "tests/integration",
                  "tests/conformance/dataloader", "tests/unit/client",
                  "tests/unit/deploy", "tests/unit/tools")
SANITIZERS = ("asan", "ubsan", "tsan")
# The compiler of CUDA kernels. If it exists, the targets that need it are built and
# tested, too.
NVCC = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                    "bin", "nvcc")
PROGRAMS = {
    "FOREBAY_DAEMON": ("//server/daemon:forebayd", "server/daemon/forebayd"),
    "FOREBAY_LIBRARY": ("//client:python", "client/libforebay.so"),
    "FOREBAY_CTL": ("//tools/forebayctl:forebayctl",
                    "tools/forebayctl/forebayctl"),
    "FOREBAY_EXAMPLE": ("//client/cpp:example", "client/cpp/example"),
    "FOREBAY_READ_BUCKET": ("//tests/cloud:read_bucket",
                            "tests/cloud/read_bucket"),
}
# The programs that need CUDA's toolkit.
CUDA_PROGRAMS = {
    "FOREBAY_CUDA_PLUGIN": ("//cuda:libforebay_cuda.so",
                            "cuda/libforebay_cuda.so"),
    "FOREBAY_FAKE_LIBCUDA": ("//tests/device/fake_libcuda:libcuda.so.1",
                             "tests/device/fake_libcuda/libcuda.so.1"),
}
# The wheel's target and folder. The wheel's programs also run on other hosts.
WHEEL = ("//deploy/wheel:dist", "deploy/wheel/dist")


def programs():
    """Returns the programs that Python tests run, by the variables that name them."""
    return {**PROGRAMS, **(CUDA_PROGRAMS if NVCC.exists() else {})}


def tags_left_out(config):
    """Returns the tags of tests that .bazelrc leaves out of a configuration."""
    if config == "cuda":
        return ["manual"]
    if config == "tsan":
        return ["manual", "cuda", "release-only", "longjmp"]
    if config in SANITIZERS:
        return ["manual", "cuda", "release-only"]
    return ["manual", "cuda"]


def _query(expression):
    """Returns the labels that an expression of `bazel query` names."""
    listed = subprocess.run(
        ["bazel", "query", "--noshow_progress",
         "--ui_event_filters=-info,-debug", "--keep_going", expression],
        cwd=ROOT, stdout=subprocess.PIPE)
    if listed.returncode not in (0, 3):
        sys.exit("tools/test: bazel query failed")
    return sorted(listed.stdout.decode().split())


def bazel_targets(names, config):
    """Returns the labels of a configuration's C++ tests whose label, or a source's
    label, contains one of the names."""
    unwanted = "|".join(tags_left_out(config))
    labels = _query(f'tests(//...) except attr(tags, "[\\[ ]({unwanted})[,\\]]", '
                    "tests(//...))")
    if not names:
        return labels
    sources = "|".join(re.escape(name.rstrip("/")).replace("/", "[/:]")
                       for name in names)
    by_source = set(_query(f'attr(srcs, "{sources}", tests(//...))'))
    return [label for label in labels if label in by_source
            or any(_fits(name, label) for name in names)]


def _fits(name, label):
    path = label[2:].replace(":", "/")
    return name in label or name.rstrip("/") in path or path in name


def run_bazel(labels, options):
    """Runs C++ tests. Returns the list of their cases."""
    events = ROOT / ".cache" / "bazel_events.json"
    events.parent.mkdir(exist_ok=True)
    events.unlink(missing_ok=True)
    command = ["bazel", "test", "--keep_going", "--noshow_progress",
               "--test_summary=none", f"--build_event_json_file={events}",
               *options, "--", *labels]
    subprocess.run(command, cwd=ROOT)
    return junit.bazel_cases(labels, events)


def _options(config):
    return [f"--config={config}"] if config else []


def build_all(config):
    """Builds everything. Returns a failed case if the build fails, else none."""
    # Bazel compiles a library that is named on its command line twice, once for shared
    # libraries. Therefore only libraries that no other target uses are named.
    used = 'kind("rule", //...) except kind("cc_library rule", //...)'
    labels = _query(f"let used = {used} in "
                    '(($used + (kind("cc_library rule", //...) '
                    'except deps($used))) except attr(tags, "manual", //...))')
    command = ["bazel", "build", "--noshow_progress", "--keep_going",
               *_options(config), "--", *labels]
    if subprocess.run(command, cwd=ROOT).returncode == 0:
        return []
    return [junit.Case("bazel build //...", junit.FAILED,
                       "some targets do not build")]


def python_tests(names):
    """Returns the paths of Python tests that contain one of the names."""
    found = []
    for folder in PYTEST_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not re.fullmatch(r"test_.*|.*_test", path.stem):
                continue
            name = str(path.relative_to(ROOT))
            if not names or any(one.rstrip("/") in name for one in names):
                found.append(name)
    return found


def run_pytest(paths, python="/usr/bin/python3", group="pytest"):
    """Runs Python tests. Returns the list of their cases. Most tests wait for disks and
    other processes, so files run side by side. Tests marked `alone` measure the
    machine, and run after the others."""
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
               PYTHONPATH=str(ROOT / "client" / "python"))
    for name, (_, path) in programs().items():
        env[name] = str(ROOT / "bazel-bin" / path)
    if any("wheel" in path for path in paths):
        label, path = WHEEL
        env["FOREBAY_WHEEL"] = str(ROOT / "bazel-bin" / path)
        subprocess.run(["bazel", "build", "--noshow_progress",
                        *(["--config=cuda"] if NVCC.exists() else []),
                        "--config=portable", label], cwd=ROOT)
    workers = min(len(os.sched_getaffinity(0)) + 1, len(paths))
    return [case for options in (["-m", "not alone", "-n", str(workers),
                                  "--dist", "loadfile"], ["-m", "alone"])
            for case in _pytest(python, paths, env, options, group)]


def run_today():
    """Runs the tests on today's stack if it is installed. Returns the list of their
    cases."""
    reason = today.missing()
    if reason:
        return [junit.Case(today.NAME, junit.SKIPPED, reason)]
    return run_pytest(today.TESTS, str(today.PYTHON), today.NAME)


def _pytest(python, paths, env, options, group):
    results = ROOT / ".cache" / "pytest.xml"
    results.parent.mkdir(exist_ok=True)
    results.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-ra",
               "-p", "no:cacheprovider", f"--junit-xml={results}", *options,
               *paths]
    code = subprocess.run(command, cwd=ROOT, env=env,
                          stdin=subprocess.DEVNULL).returncode
    cases = junit.cases(results, group) if results.exists() else []
    if code not in (0, 5) and all(c.verdict != junit.FAILED for c in cases):
        cases.append(junit.Case(group, junit.FAILED,
                                f"pytest left with exit code {code}"))
    return cases


def tests_named(names, config):
    """Returns the labels of C++ tests and the paths of Python tests that fit the names.
    Exits if a name fits no test."""
    labels, paths = set(), set()
    for name in map(from_root, names):
        of_name = set(bazel_targets([name], config)), set(python_tests([name]))
        if not any(of_name):
            sys.exit(f"tools/test: no test fits {name!r}")
        labels |= of_name[0]
        paths |= of_name[1]
    return sorted(labels), [path for path in python_tests([]) if path in paths]


def from_root(name):
    """Returns a name as a path below the root, the form that labels and paths have."""
    if not name.strip("/"):
        sys.exit(f"tools/test: {name!r} names no test")
    if name.startswith("./") or name.startswith(f"{ROOT}/"):
        return os.path.relpath(name, ROOT)
    return name


def main():
    parser = argparse.ArgumentParser(prog="tools/test")
    parser.add_argument("--config", choices=SANITIZERS + ("cuda",),
                        help="a sanitizer: C++ tests only")
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    config = args.config or ("cuda" if NVCC.exists() else None)

    everything = not args.name
    names = [name for name in args.name if name != today.NAME]
    by_name = bool(names) or everything  # False if `today` is the only name
    on_today = config not in SANITIZERS and (everything or names != args.name)

    cases = build_all(config) if everything else []
    labels, paths = [], []
    if by_name:
        labels, paths = (tests_named(names, config) if names else
                         (bazel_targets([], config), python_tests([])))
    if config in SANITIZERS:
        paths = []
    if labels:
        cases += run_bazel(labels, _options(config))
    if args.name and (paths or on_today and not today.missing()):
        wanted = [label for label, _ in programs().values()]
        subprocess.run(["bazel", "build", "--noshow_progress",
                        *_options(config), *wanted], cwd=ROOT)
    if paths:
        cases += run_pytest(paths)
    if on_today:
        cases += run_today()
    return junit.report(cases)


if __name__ == "__main__":
    sys.exit(main())
