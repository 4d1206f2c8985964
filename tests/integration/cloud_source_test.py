"""The daemon's source of Cloud Storage, on a real server behind a proxy that injects
faults of every kind."""

import collections
import hashlib
import json
import os
import pathlib
import random
import subprocess
import threading
import urllib.parse

import pytest

from fault_proxy import KINDS, FaultProxy
from metadata_server import MetadataServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
READER = os.environ.get("FOREBAY_READ_BUCKET",
                        str(ROOT / "bazel-bin/tests/cloud/read_bucket"))
PART_BYTES = 3000
ROUNDS = 10


@pytest.fixture(scope="module")
def contents():
    """Contents by name. The objects are read in no part, in one, and in several."""
    chance = random.Random(1)
    sizes = [0, 1, 2999, 3000, 3001, 20_000]
    sizes += [chance.randrange(1, 9_000) for _ in range(34)]
    return {f"{number:03d} ü&{number}.bin": chance.randbytes(size)
            for number, size in enumerate(sizes)}


@pytest.fixture(scope="module")
def bucket(fake_gcs, contents):
    """The URI of a folder in which `contents` are."""
    fake_gcs.fill("source", {"data/" + name: content
                             for name, content in contents.items()})
    return "gs://source/data"


def read(proxy, uri, *arguments):
    """Reads all objects. Returns the results of the reads, and counts of the
    requests."""
    done = subprocess.run(
        [READER, proxy.url, uri, "--part-bytes", str(PART_BYTES),
         *arguments], stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]


def expect_all(lines, contents, rounds):
    """Checks that each object was read once in each round, with its own bytes."""
    expected = {
        (number, name, len(content), hashlib.sha256(content).hexdigest()): 1
        for name, content in contents.items() for number in range(rounds)}
    errors = [line for line in lines if "error" in line]
    assert not errors
    assert collections.Counter(
        (line["round"], line["name"], line["size"], line["sha256"])
        for line in lines) == expected


def test_all_is_read_once_with_right_bytes_whatever_goes_wrong(
        fake_gcs, bucket, contents):
    with MetadataServer() as machine, \
            FaultProxy(fake_gcs.url, seed=11,
                       accepts=machine.accepts) as proxy:
        proxy.slow_seconds = 0.1
        proxy.spoil(0.05)
        lines, asked = read(proxy, bucket, "--rounds", str(ROUNDS),
                            "--metadata", machine.host)
        expect_all(lines, contents, ROUNDS)
        faults = proxy.faults()
        # A list of one page is requested too rarely for the fault of lists to occur.
        assert set(faults) >= set(KINDS) - {"broken_page"}, faults
        came = proxy.asked()
    gets = asked["gets"]
    # A request that is cancelled at once need not reach the proxy.
    assert came["media"] <= gets["requests"]
    assert gets["requests"] <= came["media"] + gets["hedges"]
    assert gets["retries"] > 0 and gets["failures"] > 0
    assert gets["bytes"] >= ROUNDS * sum(map(len, contents.values()))
    assert came["list"] == asked["lists"]["requests"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_fault_passes(fake_gcs, bucket, contents, kind):
    with MetadataServer() as machine, FaultProxy(fake_gcs.url, 12) as proxy:
        proxy.slow_seconds = 0.1
        proxy.spoil(0.1, [kind])
        lines, _ = read(proxy, bucket, "--metadata", machine.host)
        expect_all(lines, contents, 1)


def test_a_page_that_is_broken_is_asked_for_again(fake_gcs, bucket, contents):
    # Tries one seed after the other, because only some begin with a broken page.
    for seed in range(100):
        with FaultProxy(fake_gcs.url, seed) as proxy:
            proxy.spoil(0.5, ["broken_page"])
            lines, asked = read(proxy, bucket)
            expect_all(lines, contents, 1)
            if proxy.faults():
                assert asked["lists"]["retries"] > 0
                return
    pytest.fail("no page was broken")


def test_an_object_that_was_replaced_is_an_error(fake_gcs, contents):
    some = dict(list(contents.items())[:8])
    name = sorted(some)[5]  # an object of several parts
    fake_gcs.fill("replaced", {"data/" + each: content
                               for each, content in some.items()})
    with FaultProxy(fake_gcs.url) as proxy:
        place, passed = urllib.parse.quote(name), []
        turn = threading.Lock()

        def replace(target):
            if place not in target:
                return
            with turn:  # all other requests wait
                passed.append(target)
                if len(passed) == 3:
                    fake_gcs.fill("replaced",
                                  {"data/" + name: b"other" * 4000})

        proxy.before_each(replace)
        lines, _ = read(proxy, "gs://replaced/data")
    errors = [line for line in lines if "error" in line]
    assert [line["name"] for line in errors] == [name]
    assert "was replaced" in errors[0]["error"]
    del some[name]
    expect_all([line for line in lines if "error" not in line], some, 1)
