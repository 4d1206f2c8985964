"""Runs of tests/mutants/run with a stand-in for Bazel. The tests check the reports on
mutants, and that the checkout and its copy are unchanged."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

RUN = pathlib.Path(__file__).resolve().parents[4] / "tests" / "mutants" / "run"
SOURCE = "int F(int a) {\n  G(a);\n  return a < 1;\n}\n"
# A stand-in for Bazel, whose one test passes if WANTED is in the source.
BAZEL = """#!/bin/sh
case "$*" in
  *shutdown) ;;
  *query*--output=graph*)
    echo '"//tests/unit/server/a:tests" -> "//server/a:a"'
    echo '"//server/a:a" -> "//server/a:a.cc"' ;;
  *query*) echo //tests/unit/server/a:tests ;;
  *" test "*)
    if [ -n "$ASKED" ]; then
      echo asked > "$ASKED"
      read -r never < "$ANSWER"
    fi
    grep -q "$WANTED" server/a/a.cc && exit 0
    echo "$SAID"
    exit ${STATUS:-3} ;;
  *) exit 2 ;;
esac
"""


class Place:
    """A checkout with one source, and a copy of the program."""

    def __init__(self, folder):
        self.folder = folder
        self.checkout = folder / "checkout"
        self.source = self.checkout / "server" / "a" / "a.cc"
        self.copied = folder / "work" / "tree" / "server" / "a" / "a.cc"
        self.source.parent.mkdir(parents=True)
        self.source.write_text(SOURCE)
        subprocess.run(["git", "init", "-q", self.checkout], check=True)
        bazel = folder / "programs" / "bazel"
        bazel.parent.mkdir()
        bazel.write_text(BAZEL)
        bazel.chmod(0o755)

    def start(self, *options, wanted="return a < 1", **variables):
        """Starts the program in a process group of its own."""
        path = f"{self.folder / 'programs'}:{os.environ['PATH']}"
        return subprocess.Popen(
            [RUN, "--tree", self.checkout, "--work", self.folder / "work", *options],
            env=dict(os.environ, PATH=path, WANTED=wanted, **variables), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def lines(self, *options, status=0, **variables):
        """Runs the program, which must exit with `status`. Returns the lines that it
        prints."""
        run = self.start(*options, **variables)
        output, errors = run.communicate(timeout=60)
        assert run.returncode == status, errors
        return output.splitlines()

    def is_whole(self):
        return self.source.read_text() == self.copied.read_text() == SOURCE


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_counts_and_replays(place):
    json_file = place.folder / "out.json"
    *lines, last = place.lines("--count", "2", "--seed", "7", "--json", json_file)
    assert place.lines("--count", "2", "--seed", "7", "--list") == [
        line.rpartition(": ")[0] for line in lines]
    assert place.is_whole()
    killed = [line for line in lines
              if line.endswith(": killed by //tests/unit/server/a:tests")]
    survived = [line for line in lines if line.endswith(": survived")]
    assert len(killed) + len(survived) == len(lines) == 2
    assert last.startswith(
        f"{len(killed)} killed, {len(survived)} survived, 0 invalid;")
    written = json.loads(json_file.read_text())
    assert [entry["file"] for entry in written["mutants"]] == ["server/a/a.cc"] * 2
    assert written["killed"] == len(killed)


def mutant_file(place):
    """Writes a file with one killed mutant, and returns the file's name."""
    lines = []
    for seed in range(100):
        lines = place.lines("--count", "1", "--seed", str(seed), "--json",
                            place.folder / "one.json")
        if "killed by" in lines[0]:
            return place.folder / "one.json", lines[0].rpartition(": ")[0]
    raise AssertionError(lines)


def test_a_replay_names_what_is_no_longer_killed(place):
    path, mutant = mutant_file(place)
    assert place.lines("--replay", path)[1].startswith("0 lost")
    lines = place.lines("--replay", path, wanted="", status=1)
    assert lines[:2] == [
        f"{mutant}: survived",
        f"LOST {mutant}: killed by //tests/unit/server/a:tests before, survived now"]
    assert place.lines("--replay", path, wanted="never", status=1)[2] == (
        lines[1] + ", its test is left out")


def test_a_replay_refuses_other_sources(place):
    path, mutant = mutant_file(place)
    place.source.write_text("\n" + SOURCE)
    run = place.start("--replay", path)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    assert errors.startswith(f"{mutant}\n") and "has other sources" in errors


def test_bazels_status_tells_a_failed_build_and_a_late_test(place):
    path, mutant = mutant_file(place)
    for status, words, verdict in [
            ("1", "", "invalid"),
            ("3", "//tests/unit/server/a:tests TIMEOUT in 120.0s",
             "killed by //tests/unit/server/a:tests (timed out)")]:
        lines = place.lines("--replay", path, STATUS=status, SAID=words,
                            status=int(verdict == "invalid"))
        assert lines[0] == f"{mutant}: {verdict}"
    run = place.start("--replay", path, STATUS="4", SAID="no such target")
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1 and "no such target" in errors


@pytest.mark.parametrize("options, words", [
    (["--replay", "/nonexistent"], "/nonexistent holds no outcomes"),
    (["--tree", "/nonexistent", "--list"], "/nonexistent is not a folder"),
    (["--list", "--count", "-3"], "--count -3 is not positive")])
def test_says_what_is_wrong_with_its_arguments(place, options, words):
    run = place.start(*options)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    assert errors.startswith("tests/mutants/run: ") and words in errors


def test_a_test_that_fails_anyway_is_named(place):
    lines = place.lines("--count", "1", wanted="never")
    assert lines[0].endswith(": survived (no test to ask)")
    assert lines[1] == ("left out, for it fails without a fault: "
                        "//tests/unit/server/a:tests (failed)")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_restores_the_copy(place, number):
    asked, answer = place.folder / "asked", place.folder / "answer"
    os.mkfifo(asked)
    os.mkfifo(answer)
    run = place.start("--count", "1", ASKED=str(asked), ANSWER=str(answer))
    # The process that asked now waits for an answer.
    assert asked.read_text() == "asked\n"
    assert place.copied.read_text() != SOURCE
    os.killpg(run.pid, number)
    run.communicate(timeout=60)
    assert run.returncode not in (0, None)
    assert place.is_whole()
