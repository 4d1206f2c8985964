"""The output of `forebayctl VERB --json` can be read as the messages that the documents
name."""

import contextlib
import json
import re
import subprocess
import sys

import pytest
from google.protobuf import json_format

import forebay
from forebay import transforms as T
from inspected_files import FORMATS
from proto_modules import proto_module
from trouble import CROP, FOREBAYCTL, ROOT, ctl

JOBS = ("json-1", "json-2")


def documented():
    """Returns (verb, name of its message) for each row of the administrator's table."""
    page = (ROOT / "deploy" / "README.md").read_text()
    table = page.split("\n## Watching\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)[^`]*` \|.*\| `(\w+)`[^|]*\|$", table, re.MULTILINE)


def message(name):
    """Returns a new message of the given name."""
    for module in (proto_module("admin"), proto_module("cli")):
        if hasattr(module, name):
            return getattr(module, name)()
    raise AssertionError(f"neither admin.proto nor cli.proto has {name}")


@pytest.fixture(scope="module")
def jobs(shared_daemon, photos):
    """A daemon with two jobs, each of which holds a batch."""
    held = []
    with contextlib.ExitStack() as opened, pytest.MonkeyPatch.context() as patch:
        for name in JOBS:
            patch.setenv("FOREBAY_JOB", name)
            loader = opened.enter_context(forebay.DataLoader(
                photos, batch_size=4, transform=T.CenterCrop(CROP), framework="numpy"))
            epoch = iter(loader)
            held.append((epoch, next(epoch)))
        yield shared_daemon
        held.clear()


def test_the_table_has_every_verb():
    said = subprocess.run([FOREBAYCTL, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    verbs = re.findall(r"^  (\w+) ", said.split("Subcommands:")[1], re.MULTILINE)
    assert sorted(verb for verb, _ in documented()) == sorted(verbs)
    assert len(verbs) == 10


@pytest.mark.parametrize("verb, name", documented())
def test_each_verb_prints_its_message(jobs, photos, tmp_path, monkeypatch, verb, name):
    monkeypatch.setenv("FOREBAY_PYTHON", sys.executable)
    printed = ctl(jobs, verb, *{
        "top": ["--interval", "0.2"], "inspect": [str(photos), "--verify"],
        "peek": [JOBS[0], "-o", str(tmp_path / "batch.png")],
        "set": [JOBS[0], "--weight", "2"]}.get(verb, []))
    parsed = json_format.ParseDict(printed, message(name))
    if verb == "inspect":
        assert parsed.fields and parsed.verification.is_complete
        return
    assert printed == json_format.MessageToDict(
        parsed, including_default_value_fields=True, preserving_proto_field_name=True)
    if name in ("JobList", "JobRatesList"):
        assert {job.name for job in parsed.jobs} == set(JOBS)
    if verb == "peek":
        assert len(parsed.labels) == 4 and (tmp_path / "batch.png").exists()
    if verb == "doctor":
        assert {finding.level for finding in parsed.findings} <= {
            "ok", "note", "problem"}


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_an_inspection_of_each_format_is_its_message(tmp_path, photos, make):
    uri, *_ = make(tmp_path, photos)
    found = forebay.inspect(uri, progress=False)
    printed = json.loads(json.dumps(found.to_dict()))
    parsed = json_format.ParseDict(printed, message("Inspection"))
    assert parsed.samples == found.samples and parsed.code == found.code
    assert [field.name for field in parsed.fields] == [
        field["name"] for field in found.fields]
