"""Faults that tests/mutants plants: only in code, drawn from a seed, and restored
afterwards."""

import collections
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests" / "mutants"))

import bazel  # noqa: E402
import cc_mutants  # noqa: E402
import cc_tokens  # noqa: E402
import mutant_draw  # noqa: E402
import nearest_tests  # noqa: E402
import outcomes  # noqa: E402
import scratch_tree  # noqa: E402
import trial  # noqa: E402


def body(statements):
    """Returns a file that has a function of these statements."""
    return f"namespace forebay {{\nint F(int a) {{\n{statements}\n}}\n}}\n"


def planted(statements, kind=None):
    """Returns the faults that can be planted into a function: pairs of old and new
    text."""
    return [(mutant.old, mutant.new)
            for mutant in cc_mutants.mutants_of("a.cc", body(statements))
            if kind in (None, mutant.kind)]


def test_tokens_tell_code_from_what_looks_like_it():
    text = ('#define A(x) \\\n  x < 1\n// b < 2 \\\n c < 3\n/* d\n < 4 */ e '
            'R"x(f < ")5)x" "\\"g < 6" \'"\' 1\'000u->*h')
    assert [(token.kind, token.text, token.line)
            for token in cc_tokens.tokens_of(text)] == [
        ("word", "e", 6), ("string", 'R"x(f < ")5)x"', 6),
        ("string", '"\\"g < 6"', 6), ("char", "'\"'", 6),
        ("number", "1'000u", 6), ("mark", "->*", 6), ("word", "h", 6)]


@pytest.mark.parametrize("kind, statement, wanted", [
    ("comparison", "x = a < b;", [("<", "<=")]),
    ("comparison", "x = a == b;", [("==", "!=")]),
    ("comparison", "x = std::max<int>(a, b)->c;", []),
    ("logic", "x = a && b;", [("&&", "||")]),
    ("logic", "for (auto&& x : y) f(x);", []),
    ("arithmetic", "x = a + b;", [("+", "-")]),
    ("arithmetic", "x -= a;", [("-=", "+=")]),
    ("arithmetic", 'x = a + "b";', []),
    ("arithmetic", "x = -a;", []),
    ("integer", "x = 0;", [("0", "1")]),
    ("integer", "x = 0x1Fu;", [("0x1Fu", "0x20u"), ("0x1Fu", "0x1eu")]),
    ("integer", "x = 0644;", [("0644", "0645"), ("0644", "0643")]),
    ("integer", "x = 1'000;", [("1'000", "1001"), ("1'000", "999")]),
    ("integer", "x = 0.5;", []),
    ("integer", "char x[16];", []),
    ("integer", "std::array<int, 4> x;", []),
    ("integer", "x = y[1];", [("1", "2"), ("1", "0")]),
    ("condition", "if (a) f();", [("a", "!(a)")]),
    ("condition", "if (const int b = f(a); b > 0) g();", [("b > 0", "!(b > 0)")]),
    ("condition", "if (int* b = f(a)) g();", []),
    ("condition", "while (a.b() &&\n  c) g();", [("a.b() &&\n  c",
                                                  "!(a.b() &&\n  c)")]),
    ("condition", "if constexpr (a) f();", []),
    ("statement", "f(a);", [("f(a);", ";")]),
    ("statement", "if (a) b->c<int>().d[2](e);", [("b->c<int>().d[2](e);", ";")]),
    ("statement", "*a = b;", [("*a = b;", ";")]),
    ("statement", "++a;", [("++a;", ";")]),
    ("statement", "a->b = [] { return 1; };", [("a->b = [] { return 1; };", ";")]),
    ("statement", "FOREBAY_RETURN_IF_ERROR(f());",
     [("FOREBAY_RETURN_IF_ERROR(f());", ";")]),
    ("statement", "base::Lock lock(a);", []),
    ("statement", "const int b = a;", []),
    ("statement", "return (a);", []),
    ("statement", "g(a ? b : c(d), Point{e});",
     [("g(a ? b : c(d), Point{e});", ";")]),
    ("statement", "f(\n#ifdef A\n1\n#endif\n);", []),
    ("return", "return true;", [("true", "false")]),
    ("return", "return a == b;", [("a == b", "!(a == b)")]),
    ("return", "return !a;", [("!a", "!(!a)")]),
    ("return", "return a == b ? c : d;", []),
    ("return", "return f(a == b);", []),
])
def test_plants_each_kind(kind, statement, wanted):
    assert planted(statement, kind) == wanted


@pytest.mark.parametrize("statement", [
    "FOREBAY_CHECK(a < 1);",
    "static_assert(a == 1);",
    'spdlog::warn("{}", a + 1);',
    'std::fprintf(stderr, "%d", a + 1);',
    "constexpr int kTable[] = {1, 2, 3};",
    "static const std::array<int, 2> kTable = {1, 2};",
    "// a < 1; f(a);",
    "/* if (a < 1) */",
    "#define A (a < 1)",
    "enum { kOne = 1 };",
])
def test_plants_nothing_into_what_is_no_behaviour(statement):
    assert planted(statement) == []


def test_a_label_stays_and_what_follows_it_does_not():
    assert planted("switch (a) {\ncase 1: f(a);\ndefault: g(a);\n}") == [
        ("f(a);", ";"), ("g(a);", ";")]


@pytest.mark.parametrize("declaration", [
    "constexpr int kA = 1;",
    "const std::map<int, int> kA = {{1, 2}};",
    "std::string A{1 + 2};",
    "enum class A : int { kB = 1 };",
    "template <class T = A<1>>\nstruct A : B {\n  int b = 1;\n  int c[2] = {1};\n};",
    "auto A = [](int a) { return a < 1; };",
])
def test_plants_nothing_outside_functions(declaration):
    assert cc_mutants.mutants_of("a.cc", declaration) == []


@pytest.mark.parametrize("head", [
    "int F(int b = 3)", "auto F() const -> std::vector<int>", "A::A() : b_(2), c_{b}",
    "A::A() : b_{b}, c_(2)", "A::A() : c_{b}", "bool A::operator==(const A& b) const",
    "bool A::operator<(const A& b)", "template <class T = int>\nstruct stat F(T b)",
    "struct B {\n  int c = 2;\n public:\n  int F()"])
def test_finds_the_bodies_of_functions(head):
    closing = "\n};" * head.startswith("struct B")
    text = f"{head} {{\n  return 7;\n}}{closing}\n"
    assert [(mutant.old, mutant.new) for mutant in
            cc_mutants.mutants_of("a.cc", text)] == [("7", "8"), ("7", "6")]


def test_a_file_with_brackets_that_do_not_match_has_no_mutants():
    assert cc_mutants.mutants_of("a.cc", body("if (a) {\n#else\nif (b) {\n}")) == []


def test_a_mutant_tells_its_place_and_changes_that_alone():
    text = body("int b = a;\nreturn a < b;")
    mutant, = [one for one in cc_mutants.mutants_of("a.cc", text)
               if one.kind == "comparison"]
    assert str(mutant) == "a.cc:4 comparison: < -> <="
    assert mutant.planted(text) == text.replace("a < b", "a <= b")
    with pytest.raises(ValueError, match="a.cc:4"):
        mutant.planted("\n" + text)


def sources(rooms):
    """Returns the files of a product. `rooms` tells the number of files in each room,
    and the number of lines in each file."""
    return {f"{room}/{number}.cc": body("a += 1;\n" * 4 + "//\n" * (lines - 8))
            for room, (files, lines) in rooms.items() for number in range(files)}


ROOMS = {"server/a": (4, 300), "server/a/b": (2, 75), "cuda": (1, 9),
         "client/core": (3, 40)}


def drawn(seed, count=12, compiles=lambda mutant: True):
    """Returns the mutants of a draw."""
    found = []

    def try_one(mutant):
        found.append(mutant)
        return compiles(mutant)

    mutant_draw.Draw(sources(ROOMS), seed).each(count, try_one)
    return found


def test_equal_seeds_draw_equal_mutants():
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    names = [(one.file, one.line, one.kind) for one in drawn(1)]
    assert len(set(names)) == len(names) == 12


def test_a_file_has_two_mutants_at_most():
    files = collections.Counter(mutant.file for mutant in drawn(1, 100))
    assert set(files.values()) == {2} and len(files) == 10


def test_rooms_have_mutants_by_the_root_of_their_lines():
    rooms = {"server/a": (10, 100), "server/b": (10, 25)}
    counts = collections.Counter()
    for seed in range(30):
        counts.update(mutant_draw.Draw(sources(rooms), seed).seats(9))
    assert abs(counts["server/a"] / sum(counts.values()) - 2 / 3) < 0.03


def test_small_rooms_have_their_turn():
    seats = collections.Counter()
    for seed in range(60):
        seats.update(set(mutant_draw.Draw(sources(ROOMS), seed).seats(2)))
    assert set(seats) == set(ROOMS)


def test_another_mutant_of_the_room_replaces_one_that_does_not_compile():
    first = drawn(1)
    broken = first[3]
    again = drawn(1, compiles=lambda mutant: mutant != broken)
    assert again[:4] == first[:4] and len(again) == 13
    assert again[4].file.rpartition("/")[0] == broken.file.rpartition("/")[0]
    none = drawn(1, count=2, compiles=lambda mutant: False)
    assert len(none) == 2 * mutant_draw.TRIES


@pytest.mark.parametrize("path, wanted", [
    ("server/stream/stream.cc", True), ("client/core/loader.cc", True),
    ("tools/forebayctl/main.cc", True), ("cuda/plugin.cc", True),
    ("cuda/fake_gpu.cc", False), ("client/abi/forebay.cc", False),
    ("server/stream/stream.h", False), ("tests/unit/server/a.cc", False)])
def test_knows_the_product(path, wanted):
    assert mutant_draw.is_product(path) == wanted


GRAPH = """digraph mygraph {
  node [shape=box];
  "//tests/unit/server/a:tests" -> "//server/a:middle"
  "//server/a:middle" -> "//server/a:low"
  "//tests/unit/b:tests" -> "//server/a:low"
  "//tests/unit/b:aside" -> "//server/a:low"
  "//server/a:low" -> "//server/a:low.cc"
  "//tests/unit/c:tests" -> "//server/c:c"
}
"""


def test_the_nearest_tests_come_first():
    tests = nearest_tests.NearestTests(
        GRAPH, "//tests/unit/b:tests\n//tests/unit/server/a:tests\n"
        "//tests/unit/c:tests\n")
    assert tests.of("server/a/low.cc") == ["//tests/unit/server/a:tests",
                                           "//tests/unit/b:tests"]
    assert tests.of("server/a/none.cc") == []


@pytest.fixture
def checkout(tmp_path):
    """A repository with a source, a program and a link."""
    tree = tmp_path / "checkout"
    (tree / "server").mkdir(parents=True)
    (tree / "server" / "a.cc").write_text(body("return a < 1;"))
    (tree / "program").write_text("#!/bin/sh\n")
    (tree / "program").chmod(0o755)
    (tree / "link").symlink_to("program")
    (tree / ".gitignore").write_text("ignored\n")
    (tree / "ignored").write_text("")
    subprocess.run(["git", "init", "-q", tree], check=True)
    return tree


def mutant_of(tree):
    """Returns the first mutant of the checkout's source."""
    return cc_mutants.mutants_of("server/a.cc",
                                 scratch_tree.read(tree / "server" / "a.cc"))[0]


def test_a_copy_has_what_the_checkout_has(checkout, tmp_path):
    copy = tmp_path / "copy"
    scratch_tree.ScratchTree(checkout, copy)
    assert scratch_tree.listed(checkout) == [
        ".gitignore", "link", "program", "server/a.cc"]
    assert (copy / "program").stat().st_mode & 0o777 == 0o755
    assert (copy / "link").is_symlink() and not (copy / "ignored").exists()
    before = (copy / "program").stat()
    (copy / "server" / "a.cc").write_text("left by a run that was killed")
    (copy / "old").mkdir()
    (copy / "old" / "b.cc").write_text("")
    (checkout / "link").unlink()
    scratch_tree.ScratchTree(checkout, copy)
    assert scratch_tree.read(copy / "server" / "a.cc") == body("return a < 1;")
    assert sorted(path.name for path in copy.iterdir()) == [
        ".gitignore", "program", "server"]
    after = (copy / "program").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError])
def test_a_source_is_restored_however_a_trial_ends(checkout, tmp_path, error):
    tree = scratch_tree.ScratchTree(checkout, tmp_path / "copy")
    path = tree.folder / "server" / "a.cc"
    whole = path.read_bytes()
    with pytest.raises(error):
        with tree.planted(mutant_of(checkout)):
            assert path.read_bytes() != whole
            raise error
    assert path.read_bytes() == whole
    assert (checkout / "server" / "a.cc").read_bytes() == whole


def test_two_runs_do_not_share_a_copy(tmp_path):
    with scratch_tree.locked(tmp_path / "work"):
        with pytest.raises(BlockingIOError):
            with scratch_tree.locked(tmp_path / "work"):
                pass


class FakeBazel:
    """Gives verdicts for tests, with a fault and without."""

    def __init__(self, faulty, whole=None):
        self._verdicts = {True: faulty, False: whole or {}}
        self.asked = []

    def test(self, label, faulty):
        self.asked.append((label, faulty))
        verdict = self._verdicts[faulty].get(label, bazel.PASSED)
        return verdict if isinstance(verdict, str) else verdict.pop(0)


class FakeTests:
    """A stand-in for NearestTests that gives every source the same tests."""

    def __init__(self, *labels):
        self._labels = labels

    def of(self, _):
        return list(self._labels)


@pytest.mark.parametrize("faulty, whole, wanted, asked", [
    ({}, {}, "survived", ["//a", "//b"]),
    ({"//a": bazel.FAILED}, {}, "killed by //a", ["//a"]),
    ({"//b": bazel.TIMED_OUT}, {}, "killed by //b (timed out)", ["//a", "//b"]),
    ({"//a": bazel.UNBUILT}, {}, "invalid", ["//a"]),
    # The test also fails without the fault, so other tests are run.
    ({"//a": bazel.FAILED, "//b": bazel.FAILED}, {"//a": bazel.FAILED},
     "killed by //b", ["//b"]),
    ({"//a": bazel.UNBUILT}, {"//a": bazel.UNBUILT}, "survived", ["//b", "//c"]),
])
def test_the_first_test_that_fails_kills(checkout, tmp_path, faulty, whole, wanted,
                                         asked):
    tree = scratch_tree.ScratchTree(checkout, tmp_path / "copy")
    tries = trial.Trial(tree, FakeBazel(faulty, whole), FakeTests("//a", "//b", "//c"),
                        2)
    outcome = tries.run(mutant_of(checkout))
    assert (outcome.said(), outcome.targets) == (wanted, asked)
    assert tries.unsound == whole


def test_a_failure_that_does_not_come_again_kills_nothing(checkout, tmp_path):
    tree = scratch_tree.ScratchTree(checkout, tmp_path / "copy")
    runner = FakeBazel({"//a": [bazel.FAILED, bazel.PASSED]})
    outcome = trial.Trial(tree, runner, FakeTests("//a"), 6).run(mutant_of(checkout))
    assert outcome.said() == "survived"
    assert runner.asked == [("//a", True), ("//a", True)]


def test_a_test_that_fails_anyway_is_asked_once(checkout, tmp_path):
    tree = scratch_tree.ScratchTree(checkout, tmp_path / "copy")
    runner = FakeBazel({"//a": bazel.FAILED}, {"//a": bazel.FAILED})
    tries = trial.Trial(tree, runner, FakeTests("//a"), 6)
    for _ in range(2):
        outcome = tries.run(mutant_of(checkout))
    assert runner.asked == [("//a", True), ("//a", True), ("//a", False)]
    assert outcome.said() == "survived (no test to ask)"


def test_outcomes_are_written_read_and_compared(checkout, tmp_path):
    text = body("return a < 1;")
    one, two, three = cc_mutants.mutants_of("server/a.cc", text)[:3]
    before = [outcomes.Outcome(one, outcomes.KILLED, ["//a"], killed_by="//a"),
              outcomes.Outcome(two, outcomes.KILLED, ["//a"], killed_by="//a"),
              outcomes.Outcome(three, outcomes.INVALID, ["//a"])]
    outcomes.write(tmp_path / "before.json", before, seed="1")
    read = outcomes.load(tmp_path / "before.json")
    assert list(map(str, read)) == list(map(str, before))
    assert outcomes.summary_line(read) == (
        "2 killed, 0 survived, 1 invalid; kill rate 100%")
    now = [outcomes.Outcome(one, outcomes.KILLED, ["//a"], killed_by="//a"),
           outcomes.Outcome(two, outcomes.SURVIVED, [])]
    assert outcomes.lost(read, now) == [(read[1], now[1])]
    assert outcomes.summary_line(now) == (
        "1 killed, 1 survived (1 of them without a test to ask), "
        "0 invalid; kill rate 50%")
    assert outcomes.misfits(read, {"server/a.cc": text}) == []
    assert outcomes.misfits(read, {"server/a.cc": "\n" + text}) == [one, two, three]
    assert outcomes.misfits(read, {}) == [one, two, three]
