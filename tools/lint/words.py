"""Checks the words of comments, pages and names: a comment opens with its subject,
no retired term returns, and a class name has one meaning.

With paths as arguments, checks the comments of these files and folders alone, and
prints how many of their lines of C++ are comments."""

import collections
import re
import sys

import tree

CC = (".cc", ".h", ".cu", ".cuh", ".proto")
# Words with which a comment must not open, because its subject belongs there.
OPENERS = re.compile(r"(Of|As|Those|That|Such|Likewise|Else|It|One|So|What|Who|Whose)"
                     r"\b(?!')")
# "X is no Y" says that X is not a Y; "there is no Y" and comparisons are fine.
NOT_A = re.compile(r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer\b|more\b|"
                   r"less\b|fewer\b|better\b|worse\b|larger\b|smaller\b|later\b|"
                   r"earlier\b|faster\b|slower\b|greater\b|sooner\b|other\b|one\b)\w+")
# Patterns of terms that this project no longer uses, and the field's terms instead.
RETIRED = [
    (r"\b[Dd]esks?\b", "user-code buffer"),
    (r"\b[Ss]ponsors?\b", "payer"),
    (r"\b[Ss]urvey\w*", "length scan"),
    (r"\b[Ss]trangers?\b", "untrusted"),
    (r"\blanes\(\)", "affinity_workers()"),
    (r"\bLookAgain\b|\b\w*Rescan\b", "Revalidate, Revalidation"),
    (r"\bZipEnd\b|\bMadeEnd(64)?\b", "Eocd, Eocd64"),
    (r"\bForfeit\b", "RemoveMember"),
    (r"\b[Pp]roducer hosts?\b", "worker pool"),
    (r"\bnamespace forebay::(arena|survey|producer)\b",
     "slots, length_scan, worker"),
    (r"\b(Inflated|Packed|Unpacked)(Source|File|Root|Reader|Scan|Cache|Range)\b",
     "Decompressed or Compressed"),
    (r"\b(PackedKeys|KeyPacker|PackKept)\b",
     "CompressedKeys, KeyCompressor, CompressOrStore"),
    (r"\bKept(Chunks|Credentials|Indexes|Token|Windows)\b", "a cache of the thing"),
    (r"\b(Made(Bytes|Values)|Found(Array|Eocd|File|Point))\b",
     "the thing, without the participle"),
]
# Classes that exist in the daemon and in its clients, for the same concept.
BOTH_ENDS = {"Dataset", "Fetched", "Gpu", "Loader", "ObjectRead", "ObjectReader",
             "Placement", "Reply", "Session", "Tail"}
PROGRAMS = (("server/", "cuda/", "proto/"), ("client/", "proto/"), ("tools/",))
CLASS = re.compile(r"^(?:class|struct|enum class|union)\s+(?:alignas\([^)]*\)\s*)?"
                   r"(\w+)\b(?!::)[^;{]*\{", re.M)

# How a comment of several lines opens, and how it closes.
OPENS = {"//": re.compile(r"(/\*)\**\s*(.*)"),
         "#": re.compile(r"[rbf]?(\"\"\"|\'\'\')(.*)")}
CLOSES = {"/*": "*/", '"""': '"""', "'''": "'''"}


def comments(path, lines):
    """Yields (line number, text) of each comment, docstring or paragraph. Paragraphs
    of a docstring or of a comment between /* and */ are yielded one by one."""
    if path.endswith(".md"):
        yield from _paragraphs(lines)
        return
    mark = "//" if path.endswith(CC) else "#"
    block, start, close, begins = [], 0, None, False
    for number, line in enumerate(lines + [""], 1):
        text = line.strip()
        if close is None and text.startswith(mark) and not text.startswith("#!"):
            start = start if block else number
            block.append(text.lstrip(mark[0]).lstrip("<").strip())
            continue
        if block:
            yield start, " ".join(block)
            block = []
        if close is not None:
            words = text.lstrip("* ").strip()
            if begins and words and not text.startswith(close):
                yield number, words
            begins = not words
            close = None if close in text else close
            continue
        opens = OPENS[mark].match(text)
        if opens:
            yield number, opens.group(2)
            close = CLOSES[opens.group(1)]
            close, begins = None if close in opens.group(2) else close, False
        trailing = re.search(r"\S\s+%s (\S.*)" % mark, line)
        if trailing and '"' not in trailing.group(1):
            yield number, trailing.group(1)


def _paragraphs(lines):
    inside, fenced = False, False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("```"):
            fenced = not fenced
            continue
        item = re.match(r"(?:[-*]|\d+\.)\s+(.*)", text)
        if fenced or text.startswith(("|", "#", "<")):
            inside = False
        elif item:
            yield number, item.group(1)
            inside = True
        elif not text:
            inside = False
        elif not inside:
            yield number, text
            inside = True


def of_comments(path, lines):
    """Yields the findings in the comments of one file."""
    for number, text in comments(path, lines):
        found = OPENERS.match(text)
        if found:
            yield f"{path}:{number}: opens with {found.group(1)}: name the subject"


def of_lines(path, lines):
    """Yields the findings in all lines of one file."""
    for number, line in enumerate(lines, 1):
        found = NOT_A.search(line)
        if found:
            yield f'{path}:{number}: "{found.group(0)}": write "not"'
        for pattern, instead in RETIRED:
            found = re.search(pattern, line)
            if found:
                yield f"{path}:{number}: {found.group(0)}: the field says {instead}"


def of_names():
    """Yields a finding for each name of a class or header that two places of one
    program have, and for each class name that daemon and client both have, except
    those in BOTH_ENDS."""
    headers = tree.files(".h", ".cuh")
    for program in PROGRAMS:
        names = collections.defaultdict(set)
        for path in headers:
            if path.startswith(program):
                names[path.rsplit("/", 1)[1]].add(path)
                for name in CLASS.findall((tree.ROOT / path).read_text()):
                    names[name].add(path)
        for name, paths in sorted(names.items()):
            if len(paths) > 1 and paths != {"proto/fd.h", "server/base/fd.h"}:
                yield f"{name}: has two meanings: {', '.join(sorted(paths))}"
    ends = [set(), set()]
    for path in headers:
        end = 0 if path.startswith(("server/", "cuda/")) else 1
        if path.startswith(("server/", "cuda/", "client/")):
            ends[end].update(CLASS.findall((tree.ROOT / path).read_text()))
    for name in sorted((ends[0] & ends[1]) - BOTH_ENDS):
        yield f"{name}: is a class of the daemon's and another of the client's"


def share(paths):
    """Returns a sentence on how many lines of C++ are comments."""
    lines = [line.strip() for path in paths if path.endswith(CC)
             for line in (tree.ROOT / path).read_text().splitlines()]
    noted = sum(line.startswith(("//", "/*", "*")) for line in lines)
    return f"{noted} of {len(lines)} lines of C++ are comments: " \
           f"{noted / max(len(lines), 1):.1%}"


def main():
    chosen = tuple(sys.argv[1:])
    paths = sorted(set(tree.files(*CC, ".py", ".sh", ".bzl", ".md", "BUILD.bazel") +
                       tree.shell_scripts() + tree.python_files()))
    paths = [path for path in paths if path.startswith(chosen or ("",)) and
             path not in ("tools/lint/words.py", "tests/unit/tools/lint/words_test.py")]
    findings = []
    for path in paths:
        lines = (tree.ROOT / path).read_text().splitlines()
        findings += of_comments(path, lines)
        findings += of_lines(path, lines)
    if not chosen:
        findings += of_names()
    print("\n".join(findings))
    print(f"{len(paths)} files, {len(findings)} findings; {share(paths)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
