"""Reads JUnit files and adds up their cases."""

import dataclasses
import json
import urllib.parse
import xml.etree.ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Case:
    """A test case: its name, its verdict, and the reason if it did not pass."""
    name: str
    verdict: str
    reason: str = ""


def cases(path, group):
    """Returns all cases of a JUnit file; one failed case if the file cannot be read."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        return [Case(group, FAILED, f"no readable result: {error}")]
    return [_case(node, group) for node in root.iter("testcase")]


def _case(node, group):
    name = f"{group} " + ".".join(
        filter(None, (node.get("classname"), node.get("name"))))
    for tag in ("failure", "error"):
        found = node.find(tag)
        if found is not None:
            return Case(name, FAILED, found.get("message") or found.text or "failed")
    found = node.find("skipped")
    if found is not None:
        return Case(name, SKIPPED, found.get("message") or "skipped")
    if node.get("status") == "notrun":
        return Case(name, SKIPPED, "disabled")
    return Case(name, PASSED)


def bazel_cases(labels, events):
    """Returns the cases of a run of `bazel test`.

    Args:
      labels: the targets that were to run; a target without a result has failed.
      events: the run's build event file.

    Returns:
      A list of cases, with at least one case for each label.
    """
    results = {label: [] for label in labels}
    lines = events.read_text().splitlines() if events.exists() else []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # Bazel was killed while it wrote this line
        label = event.get("id", {}).get("testResult", {}).get("label")
        if label in results and "testResult" in event:
            results[label].append(event["testResult"])
    return [case for label in labels
            for case in _target_cases(label, results[label])]


def _target_cases(label, attempts):
    if not attempts:
        return [Case(label, FAILED, "it did not build, or did not run")]
    found = []
    for attempt in attempts:
        found += [case for output in attempt.get("testActionOutput", ())
                  if output["name"] == "test.xml"
                  for case in cases(_path(output["uri"]), label)]
    ends = [attempt.get("status") for attempt in attempts
            if attempt.get("status") != "PASSED"]
    if ends and all(case.verdict != FAILED for case in found):
        found.append(Case(label, FAILED, f"the target ended with {ends[-1]}"))
    return found or [Case(label, FAILED, "it holds no test case")]


def _path(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


def report(found):
    """Prints skipped and failed cases, then the counts. Returns the exit code."""
    for case in found:
        if case.verdict == SKIPPED:
            print(f"skipped: {case.name}: {case.reason.strip()}")
    for case in found:
        if case.verdict == FAILED:
            # The first line of a reason has the place, the second line the assertion.
            lines = case.reason.strip().splitlines()[:2]
            print(f"failed: {case.name}: {': '.join(lines)}")
    count = {verdict: sum(case.verdict == verdict for case in found)
             for verdict in (PASSED, FAILED, SKIPPED)}
    if not count[PASSED] and not count[FAILED]:
        print("failed: no test was run")
        count[FAILED] = 1
    print(f"{count[PASSED]} passed, {count[FAILED]} failed, "
          f"{count[SKIPPED]} skipped", flush=True)
    return 1 if count[FAILED] else 0
