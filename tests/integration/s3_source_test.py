"""The daemon's source of S3, on a server that checks signatures, behind a proxy that
injects faults of every kind."""

import random
import threading
import urllib.parse

import pytest

from cloud_source_test import expect_all, read
from fault_proxy import S3, FaultProxy
from s3_test import ACCOUNT, fake_s3  # noqa: F401

ROUNDS = 3


@pytest.fixture(scope="module")
def contents():
    """Contents by name. The objects are read in no part, in one, and in several."""
    chance = random.Random(1)
    sizes = [0, 1, 2999, 3000, 3001, 20_000]
    sizes += [chance.randrange(1, 9_000) for _ in range(14)]
    return {f"{number:03d} ü&+{number}.bin": chance.randbytes(size)
            for number, size in enumerate(sizes)}


@pytest.fixture(scope="module")
def bucket(fake_s3, contents):  # noqa: F811
    """The URI of a folder in which `contents` are."""
    fake_s3.fill("source", {"data/" + name: content
                            for name, content in contents.items()})
    return "s3://source/data"


@pytest.fixture
def reader(tmp_path, fake_s3):  # noqa: F811
    """Options with the credentials of somebody who may read."""
    path = tmp_path / "credentials"
    path.write_text(ACCOUNT.format(**fake_s3.keys["reader"]))
    return ("--credentials", str(path))


def test_all_is_read_once_with_right_bytes_whatever_goes_wrong(
        fake_s3, bucket, contents, reader):  # noqa: F811
    with FaultProxy(fake_s3.url, seed=11, accepts=bool, speaks=S3) as proxy:
        proxy.slow_seconds = 0.1
        proxy.spoil(0.1)
        lines, asked = read(proxy, bucket, "--rounds", str(ROUNDS), *reader)
        expect_all(lines, contents, ROUNDS)
        assert len(proxy.faults()) > 4, proxy.faults()
        came = proxy.asked()
    gets = asked["gets"]
    # A request that is cancelled at once need not reach the proxy.
    assert came["media"] <= gets["requests"]
    assert gets["requests"] <= came["media"] + gets["hedges"]
    assert gets["retries"] > 0 and gets["failures"] > 0
    assert gets["bytes"] >= ROUNDS * sum(map(len, contents.values()))
    assert came["list"] == asked["lists"]["requests"]


@pytest.mark.parametrize("kind", S3.kinds)
def test_each_fault_passes(fake_s3, bucket, contents, reader, kind):  # noqa: F811
    with FaultProxy(fake_s3.url, 12, accepts=bool, speaks=S3) as proxy:
        proxy.slow_seconds = 0.1
        proxy.spoil(0.3, [kind])
        lines, _ = read(proxy, bucket, *reader)
        expect_all(lines, contents, 1)


def test_a_page_that_is_broken_is_asked_for_again(
        fake_s3, bucket, contents, reader):  # noqa: F811
    # Tries one seed after the other, because only some begin with a broken page.
    for seed in range(100):
        with FaultProxy(fake_s3.url, seed, accepts=bool, speaks=S3) as proxy:
            proxy.spoil(0.5, ["broken_page"])
            lines, asked = read(proxy, bucket, *reader)
            expect_all(lines, contents, 1)
            if proxy.faults():
                assert asked["lists"]["retries"] > 0
                return
    pytest.fail("no page was broken")


def test_an_object_that_was_replaced_is_an_error(
        fake_s3, contents, reader):  # noqa: F811
    some = dict(list(contents.items())[:8])
    name = sorted(some)[5]  # an object of several parts
    fake_s3.fill("replaced", {"data/" + each: content
                              for each, content in some.items()})
    with FaultProxy(fake_s3.url, accepts=bool, speaks=S3) as proxy:
        place, passed = urllib.parse.quote(name), []
        turn = threading.Lock()

        def replace(target):
            if place not in target:
                return
            with turn:  # all other requests wait
                passed.append(target)
                if len(passed) == 3:
                    fake_s3.fill("replaced", {"data/" + name: b"other" * 4000})

        proxy.before_each(replace)
        lines, _ = read(proxy, "s3://replaced/data", *reader)
    errors = [line for line in lines if "error" in line]
    assert [line["name"] for line in errors] == [name]
    assert "was replaced" in errors[0]["error"]
    del some[name]
    expect_all([line for line in lines if "error" not in line], some, 1)
