"""Reading and counting the results of tests."""

import json
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "tools" / "suite"))
junit = __import__("junit")
run = __import__("run")

GOOD = '<testcase name="Is"/>'
BAD = '<testcase name="Is"><failure message="a.cc:7&#10;1 == 2"/></testcase>'


def cases(tmp_path, xml, *statuses, cut=""):
    """Returns the verdicts on a target's results, where each run of it ended with one
    of the statuses."""
    lines = []
    for number, status in enumerate(statuses):
        path = tmp_path / f"{number}.xml"
        path.write_text(f"<testsuites><testsuite>{xml}</testsuite></testsuites>")
        lines.append(json.dumps(
            {"id": {"testResult": {"label": "//a"}},
             "testResult": {"status": status, "testActionOutput": [
                 {"name": "test.xml", "uri": path.as_uri()}]}}))
    events = tmp_path / "events.json"
    events.write_text("\n".join(["{}", "", *lines, cut]))
    return junit.bazel_cases(["//a"], events)


@pytest.mark.parametrize("xml, statuses, wanted", [
    (GOOD, ["PASSED"], ["passed"]),
    (GOOD * 2, ["PASSED"], ["passed", "passed"]),
    (BAD, ["FAILED"], ["failed"]),
    (GOOD, ["FAILED"], ["passed", "failed"]),
    # By chance, the second attempt passes.
    (GOOD, ["FAILED", "PASSED"], ["passed", "passed", "failed"]),
    ('<testcase name="Is"><skipped message="no GPU"/></testcase>', ["PASSED"],
     ["skipped"]),
    ("", ["PASSED"], ["failed"]),
    ("", [], ["failed"]),
    ("<broken", ["PASSED"], ["failed"]),
])
def test_each_attempt_and_each_case_counts(tmp_path, xml, statuses, wanted):
    found = cases(tmp_path, xml, *statuses)
    assert [case.verdict for case in found] == wanted


def test_events_that_are_cut_off_leave_those_before(tmp_path):
    found = cases(tmp_path, GOOD, "PASSED", cut='{"id": {"testRes')
    assert [case.verdict for case in found] == ["passed"]


def test_a_failure_says_what_was_asserted(tmp_path, capsys):
    assert junit.report(cases(tmp_path, BAD, "FAILED")) == 1
    assert capsys.readouterr().out.splitlines() == [
        "failed: //a Is: a.cc:7: 1 == 2", "0 passed, 1 failed, 0 skipped"]
    assert junit.report(cases(
        tmp_path, '<testcase name="Is"><error>it broke</error></testcase>',
        "FAILED")) == 1
    assert "failed: //a Is: it broke" in capsys.readouterr().out


def test_nothing_run_is_a_failure(capsys):
    assert junit.report([]) == 1
    assert capsys.readouterr().out.endswith("0 passed, 1 failed, 0 skipped\n")


@pytest.mark.parametrize("name", ["", "/", "//", "tests/unit/no_such_folder"])
def test_a_name_that_fits_nothing_is_refused(monkeypatch, name):
    monkeypatch.setattr(run, "_query", lambda _: [])
    with pytest.raises(SystemExit, match=r"tools/test: .*test"):
        run.tests_named(["tests/unit/tools/suite", name], None)


@pytest.mark.parametrize("name", ["./tests/unit/tools/suite", "tests/unit/tools/suite/",
                                  str(run.ROOT / "tests/unit/tools/suite")])
def test_a_folder_is_named_as_paths_are(monkeypatch, name):
    monkeypatch.setattr(run, "_query", lambda _: [])
    assert run.tests_named([name], None) == (
        [], ["tests/unit/tools/suite/junit_results_test.py",
             "tests/unit/tools/suite/results_page_test.py"])
