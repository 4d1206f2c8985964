"""Finds assertions of C++ tests that run on another thread than the test's own.

Catch2's assertions are not thread-safe. A thread should store what it sees, and the
test should check the stored values after the join."""

import re
import sys

import tree

ASSERTION = re.compile(
    r"\b((?:CHECK|REQUIRE)(?:_FALSE|_THAT|_(?:NO)?THROW\w*)?|CHECKED_IF|INFO|"
    r"UNSCOPED_INFO|CAPTURE|WARN|FAIL|FAIL_CHECK|SKIP|SUCCEED|"
    r"FOREBAY_(CHECK|REQUIRE)_\w+)\(")
# The calls that run their function argument on another thread.
STARTS_THREAD = re.compile(
    r"\bstd::j?thread\b(?:\s+\w+)?\s*[({]|\bstd::async\(|\bStartThread\(|"
    r"\bRunOnThreads\(|\b\w*threads?_?\.emplace_back\(|\bPost(?:After)?\(|"
    r"\bOnEngine\(|\.Run\((?=\{|\w+, \[)|\bSubmit(?:For)?\(|"
    r"\bSetFaults\(|\bWatch\(|\bHttpServer \w+\s*[({]|"
    r"\.done = (?:\w+\()?\[[^\]]*\][^{;]*\{")
# Literals and comments: texts that are not code.
NO_CODE = re.compile(
    r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|'
    r"//[^\n]*|/\*.*?\*/", re.S)
BRACKETS = {"(": ")", "{": "}", "[": "]"}


def code(text):
    """Returns the text with blanks in place of literals and comments."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(text, begin):
    """Returns the offset at which the bracket at `begin` closes; if it does not close,
    the text's length."""
    depth = 0
    for at in range(begin, len(text)):
        if text[at] in BRACKETS:
            depth += 1
        elif text[at] in BRACKETS.values():
            depth -= 1
            if depth == 0:
                return at
    return len(text)


def findings(path, text):
    """Returns the findings in one file.

    Args:
      path: the file's path, for the findings.
      text: the file's content.

    Returns:
      A list of lines, sorted.
    """
    text = code(text)
    found = set()
    for start in STARTS_THREAD.finditer(text):
        end = closing(text, start.end() - 1)
        for assertion in ASSERTION.finditer(text, start.end(), end):
            line = text.count("\n", 0, assertion.start()) + 1
            found.add((line, assertion.group(1)))
    return [f"{path}:{line}: {name} on another thread: keep what it saw, and "
            "check it after the join" for line, name in sorted(found)]


def main():
    paths = [path for path in tree.files(*tree.CC_SUFFIXES)
             if path.startswith("tests/")]
    found = [line for path in paths
             for line in findings(path, (tree.ROOT / path).read_text())]
    print("\n".join(found))
    print(f"{len(paths)} files of tests, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
