"""forebay.inspect on links that lead out of the dataset, as in Hugging Face's
snapshots."""

import json
import os
import subprocess
import sys

import pytest

import forebay
from inspect_verify_test import PROGRAMS
from inspected_files import members, pictures
from remote_shards_test import tar_of

ALLOW = r"declare extra_roots=\[\.\.\.\] to allow it"


def link(path, blob, content):
    blob.write_bytes(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(blob, path.parent))


def class_folders(snapshot, blobs, photos):
    for number, path in enumerate(pictures(photos)):
        link(snapshot / path.parent.name / path.name, blobs / f"{number:03}",
             path.read_bytes())
    return snapshot, "image_folder", 48


def shards(snapshot, blobs, photos):
    for number in range(2):
        link(snapshot / f"{number}.tar", blobs / f"{number}", tar_of(members(photos)))
    return snapshot, "webdataset", 96


def manifest(snapshot, blobs, photos):
    lines = []
    for number, path in enumerate(pictures(photos)):
        link(snapshot / "images" / f"{number}.jpg", blobs / f"{number}",
             path.read_bytes())
        lines.append(json.dumps({"image": f"images/{number}.jpg", "label": number % 3}))
    (snapshot / "all.jsonl").write_text("\n".join(lines) + "\n")
    return snapshot / "all.jsonl", "manifest", 48


@pytest.fixture(params=[class_folders, shards, manifest],
                ids=lambda make: make.__name__)
def linked(request, tmp_path, photos):
    """A dataset of links: (uri, format, samples, the folder to which they lead)."""
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    return (*request.param(tmp_path / "snapshots" / "3f2a", blobs, photos), blobs)


@pytest.mark.usefixtures("shared_daemon")
def test_links_may_lead_to_extra_roots(linked, tmp_path):
    uri, format, samples, blobs = linked
    with pytest.raises(forebay.ForebayError, match=ALLOW):
        forebay.inspect(uri)
    found = forebay.inspect(uri, extra_roots=[blobs], verify=True, progress=False)
    assert (found.format, found.samples) == (format, samples)
    assert found.verification.broken == 0 and found.verification.is_complete
    assert f'extra_roots=["{blobs}"]' in found.code
    assert all(f'extra_roots=["{blobs}"]' in other["code"]
               for other in found.alternatives)
    names = {}
    exec(found.code, names)  # runs the code unchanged
    with names["loader"] as loader:
        assert len(next(iter(loader)).sample_ids) == 32
    found.save(tmp_path / "sheet.png")


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("program", PROGRAMS, ids=["forebayctl", "python"])
def test_the_command_takes_them(linked, program):
    uri, _, samples, blobs = linked

    def run(*options):
        return subprocess.run(
            [*program, "inspect", *options, "--json", str(uri)], text=True,
            env=dict(os.environ, FOREBAY_PYTHON=sys.executable),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    refused = run()
    assert refused.returncode == 1 and "extra_roots=[...]" in refused.stderr
    done = run("--extra-root", str(blobs.parent / "other"), "--extra-root", str(blobs))
    assert done.returncode == 1 and "other" in done.stderr
    done = run("--extra-root", str(blobs))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["samples"] == samples


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("roots, says", [
    ("/data", r"must be a sequence of folders such as \['/data'\]"),
    (5, "must be a sequence of folders, not 5")])
def test_what_is_no_list_of_folders_is_refused_as_by_the_loader(photos, roots, says):
    with pytest.raises(forebay.InvalidArgument, match=says):
        forebay.inspect(photos, extra_roots=roots)
    with pytest.raises(forebay.InvalidArgument, match=says):
        forebay.DataLoader(photos, extra_roots=roots)
    with pytest.raises(forebay.InvalidArgument, match="links in folders"):
        forebay.inspect("gs://bucket/x", extra_roots=["/data"])
