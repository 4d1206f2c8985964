"""Checks rules of this project that no other tool checks.

Finds calls that are banned outside a few places, words that do not belong in the tree,
and files that are too long. Also finds names of C++ tests that no filter can choose,
and names of missing files in pages."""

import re
import sys

import tree

MAX_LINES = 400
# The files that may be longer: the public interface, and the list of a room's units,
# read better in one piece.
LONG_FILES = {"client/forebay.h", "server/stream/BUILD.bazel"}

CC = (".cc", ".h")
# The banned calls: the pattern, the suffixes of the files that are checked, the places
# that may use the call, and what to use instead.
BANNED = [
    (r"\babsl::(Mutex|CondVar|MutexLock|Notification|BlockingCounter)\b", CC,
     (), "base/mutex.h: ThreadSanitizer misjudges Abseil's"),
    (r"\bstd::(recursive_|shared_|timed_)?mutex\b|\bstd::condition_variable",
     CC, ("server/base/mutex.h", "client/", "cuda/", "tests/"),
     "base/mutex.h, which the thread-safety analysis knows"),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep|absl::SleepFor)\b|"
     r"(?<![\w:.>])sleep\(", CC,
     ("tests/bench/", "tests/device/fake_libcuda/", "tools/forebayctl/observe.cc"),
     "wait for what happens, not for time"),
    (r"\b(steady_clock|system_clock|high_resolution_clock)::now|"
     r"\bclock_gettime\(|\bgettimeofday\(|\babsl::Now\(", CC,
     ("server/base/clock.cc", "server/base/process.cc", "server/admin/admin_server.cc",
      "server/daemon/daemon.cc", "server/executor/cpu_clock.cc", "client/",
      "tests/", "tools/forebayctl/"),
     "base/clock.h, so that tests can move the time"),
    (r"(?<![\w:.>])s?rand\(|\bstd::(mt19937|default_random_engine)|"
     r"\brandom_device\b", CC, ("tests/",),
     "base/philox.h: randomness is counted, never drawn from a state"),
    (r"(?<![\w:.>])(strcpy|strcat|sprintf|gets|system|popen)\(", CC,
     ("tests/",), "a call that knows its bounds"),
    (r"#\s*if(?!ndef FOREBAY_\w+_H_$).*(CUDA|NVCC)", CC, ("cuda/",),
     "the interface cuda/driver.h"),
    (r"\bNOLINT\b(?!.*\(\S+\):? \S)", CC, (),
     "NOLINT(check): and the reason"),
    (r"\btime\.sleep\(", (".py",),
     ("tests/bench/", "tests/device/on_gpu/", "tests/cloud/fake_gcs.py",
      "tests/cloud/fake_s3.py", "tools/", "client/",
      "tests/integration/daemons.py", "tests/integration/trouble.py"),
     "wait for what happens, not for time"),
    (r"\b(TODO|FIXME|XXX)\b", CC + (".py", ".proto", ".sh", ".md"),
     ("tools/lint/house_rules.py",), "an issue, or the work itself"),
]
# A link of a page to a file, or a file's name with its folder.
NAMED = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)|`((?:[\w.-]+/)+[\w-]+\.\w+)`")
COMMENT = re.compile(r"^\s*(//|#(?!\s*if)|\*)")
# The name of a Catch2 test case, in pieces (string literals), and the characters that
# have a meaning in filters.
CASE = re.compile(r'^(?:TEST_CASE|TEST_CASE_METHOD|SUITE_CASE)\(\s*(?:\w+,\s*)?'
                  r'((?:"(?:[^"\\]|\\.)*"\s*)+)', re.M)
IN_FILTERS = re.compile(r'[,\[\]*\\]')


def banned(path, lines):
    """Yields a finding for each banned call or word in one file."""
    for pattern, suffixes, allowed, instead in BANNED:
        if not path.endswith(suffixes) or path.startswith(allowed):
            continue
        only_code = "TODO" not in pattern
        for number, line in enumerate(lines, 1):
            found = re.search(pattern, line)
            if found and not (only_code and COMMENT.match(line)):
                yield f"{path}:{number}: {found.group(0)}: use {instead}"


def unfilterable(path, text):
    """Yields a finding for each name of a test case that no filter can choose."""
    for case in CASE.finditer(text):
        name = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', case.group(1)))
        found = IN_FILTERS.search(name)
        if found:
            line = text.count("\n", 0, case.start()) + 1
            yield f"{path}:{line}: {found.group(0)} in the name of a test case"


def missing(path, lines):
    """Yields a finding for each missing file that a page links to, or names relative to
    the page's own folder. NAME in a path stands for any name."""
    folder = (tree.ROOT / path).parent
    for number, line in enumerate(lines, 1):
        for link, name in NAMED.findall(line):
            named = link or name
            if "NAME" not in named and not (folder / named).exists():
                yield f"{path}:{number}: {named} does not exist"


def main():
    findings = []
    paths = tree.files(".cc", ".h", ".py", ".proto", ".sh", ".bzl", ".md",
                       "BUILD.bazel")
    paths = sorted(set(paths + tree.shell_scripts() + tree.python_files()))
    for path in paths:
        text = (tree.ROOT / path).read_text()
        lines = text.splitlines()
        findings += banned(path, lines)
        if path.startswith("tests/") and path.endswith(".cc"):
            findings += unfilterable(path, text)
        if path.endswith(".md"):
            findings += missing(path, lines)
        if len(lines) > MAX_LINES and path not in LONG_FILES:
            findings.append(f"{path}: {len(lines)} lines, more than "
                            f"{MAX_LINES}: more than one job?")
    print("\n".join(findings))
    print(f"{len(paths)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
