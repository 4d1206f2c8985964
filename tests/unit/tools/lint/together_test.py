"""Units that are checked together are checked as strictly as each unit alone."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools" / "lint"))

import tidy  # noqa: E402
import together  # noqa: E402

# A typical test file, with names that other test files also use.
TEST = """#include <cstddef>
#include <utility>

namespace forebay::base {{
namespace {{

constexpr int kLimit = {limit};

struct Thing {{
  int value = kLimit;
}};

int Make(const Thing& thing) {{ return thing.value; }}

}}  // namespace

{body}

}}  // namespace forebay::base
"""
CLEAN = "int Made() { return Make(Thing()); }"
FAULTS = {
    "clang-diagnostic-unused-function":
        CLEAN + "\n\nnamespace {\nint Idle() { return 1; }\n}  // namespace",
    "clang-diagnostic-unused-const-variable":
        CLEAN + "\n\nnamespace {\nconstexpr int kIdle = 1;\n}  // namespace",
    "clang-diagnostic-old-style-cast":
        "long Made() { return (long)Make(Thing()); }",
    "clang-diagnostic-thread-safety-analysis": """
class __attribute__((capability("mutex"))) Lock {};
Lock lock;
int guarded __attribute__((guarded_by(lock))) = 0;
int Made() { return Make(Thing()) + guarded; }""",
    "bugprone-use-after-move": """
struct Owner {
  Owner() = default;
  Owner(Owner&&) = default;
  int* held = nullptr;
};
int Take(Owner owner) { return owner.held == nullptr ? 0 : *owner.held; }
int Made() {
  Owner owner;
  const int taken = Take(std::move(owner));
  return taken + *owner.held + Make(Thing());
}""",
    "misc-unused-using-decls": "using std::pair;\n" + CLEAN,
    "modernize-use-nullptr": CLEAN + "\nint* none = 0;",
    "readability-identifier-naming": CLEAN + "\nint CamelCase = 0;",
    "readability-duplicate-include": CLEAN,
    "google-readability-namespace-comments": CLEAN,
}


def unit(name, limit, body=CLEAN):
    """Returns a test file that is named after its number."""
    return together.Unit(f"tests/unit/{name}_test.cc",
                         TEST.format(limit=limit, body=body), False)


def faulty_unit(check):
    """Returns a test file with one fault."""
    made = TEST.format(limit=7, body=FAULTS[check])
    if check == "readability-duplicate-include":
        made = made.replace("<utility>", "<cstddef>")
    if check == "google-readability-namespace-comments":
        made = made.replace("// namespace forebay::base",
                            "// namespace forebay::bass")
        made = made.replace("int Made", "\n" * 20 + "int Made")
    return together.Unit("tests/unit/faulty_test.cc", made, False)


def said(bunch, folder):
    """Runs clang-tidy on a bunch of units, and returns its output."""
    path = folder / "bunch.cc"
    path.write_text(together.text(bunch))
    done = subprocess.run(
        [tidy.CLANG_TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy",
         str(path), "--"] + tidy.FLAGS, cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    return done.stdout.decode()


def test_units_with_the_same_names_of_their_own_are_clean(tmp_path):
    assert said([unit("one", 1), unit("two", 2), unit("three", 3)],
                tmp_path) == ""


@pytest.mark.parametrize("check", FAULTS)
def test_a_fault_in_one_of_them_is_found(check, tmp_path):
    bunch = [unit("before", 1), faulty_unit(check), unit("after", 3)]
    assert f"[{check}" in said(bunch, tmp_path)


def test_every_unit_is_in_one_bunch_with_all_of_its_lines():
    units = [unit(str(number), number) for number in range(37)]
    made = together.bunches(units, workers=2)
    assert sorted(one.path for bunch in made for one in bunch) == sorted(
        one.path for one in units)
    assert max(map(len, made)) <= together.MOST_IN_BUNCH
    for bunch in made:
        for number, one in enumerate(bunch):
            assert one.part(number).count("\n") == one.part(0).count("\n")


def test_few_units_are_spread_over_the_workers():
    units = [unit(str(number), number) for number in range(4)]
    assert sorted(map(len, together.bunches(units, workers=2))) == [2, 2]


@pytest.mark.parametrize("text", [
    "namespace forebay::base {\nint a;\n}  // namespace forebay::base\n",
    "#include <unistd.h>\nint main() { return 0; }\n",
    'extern "C" int forebay_nothing() { return 0; }\n'])
def test_units_that_may_define_the_same_thing_are_kept_apart(text):
    units = [together.Unit(f"server/base/{name}.cc", text, True)
             for name in "abc"]
    assert [len(bunch) for bunch in together.bunches(units, 1)] == [1, 1, 1]
