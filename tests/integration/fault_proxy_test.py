"""Each fault of the fault proxy does what it says, and the same seed gives the same
faults."""

import http.client
import json
import urllib.parse

import pytest

from fault_proxy import KINDS, FaultProxy
from metadata_server import ACCOUNT, MetadataServer

CONTENT = bytes(range(200)) * 5
ANY_ERROR = (http.client.HTTPException, OSError)


@pytest.fixture(scope="module")
def generation(fake_gcs):
    """The generation of the object "a" in the bucket "faults"."""
    return fake_gcs.fill("faults", {"a": CONTENT, "b": b"b"})["a"]


@pytest.fixture
def proxy(fake_gcs, generation):
    with FaultProxy(fake_gcs.url, seed=7) as started:
        started.stall_seconds = started.slow_seconds = 0.01
        yield started


def ask(url, target, **headers):
    """Sends a request. Returns the status, the headers by name in lower case, and the
    body."""
    asking = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc,
                                        timeout=60)
    try:
        asking.request("GET", target, headers=headers)
        answer = asking.getresponse()
        return answer.status, {name.lower(): value for name, value
                               in answer.getheaders()}, answer.read()
    finally:
        asking.close()


def media(proxy, query="", **headers):
    return ask(proxy.url, f"/storage/v1/b/faults/o/a?alt=media{query}",
               **headers)


def spoilt(proxy, kind, **headers):
    proxy.spoil(1, [kind])
    return media(proxy, **headers)


def test_without_faults_all_goes_through(proxy):
    assert media(proxy)[0::2] == (200, CONTENT)
    status, headers, body = media(proxy, Range="bytes=5-9")
    assert (status, body) == (206, CONTENT[5:10])
    assert headers["content-range"] == "bytes 5-9/1000"
    assert proxy.asked() == {"media": 2}
    assert not proxy.faults()


def test_another_generation_is_refused(proxy, generation):
    assert media(proxy, f"&ifGenerationMatch={generation}")[0] == 200
    assert media(proxy, f"&ifGenerationMatch={generation - 1}")[0] == 412


def test_each_fault_is_what_it_says(proxy):
    assert spoilt(proxy, "busy")[0] == 503
    status, headers, _ = spoilt(proxy, "slow_down")
    assert (status, headers["retry-after"]) == (429, "1")
    for kind in ("stall", "reset"):
        with pytest.raises(ConnectionResetError):
            spoilt(proxy, kind)
    with pytest.raises(http.client.IncompleteRead) as cut:
        spoilt(proxy, "truncate")
    assert cut.value.partial == CONTENT[:500]
    _, _, body = spoilt(proxy, "bit_flip")
    assert [x ^ y for x, y in zip(body, CONTENT) if x != y] == [1]
    assert spoilt(proxy, "slow_first_byte")[0::2] == (200, CONTENT)
    whole = spoilt(proxy, "whole", Range="bytes=5-9")
    assert whole[0::2] == (200, CONTENT)


def test_what_no_checksum_covers_is_not_changed(proxy):
    assert spoilt(proxy, "bit_flip", Range="bytes=0-98")[2] == CONTENT[:99]


def test_a_page_of_a_list_is_none(proxy):
    proxy.spoil(1, ["broken_page"])
    _, _, body = ask(proxy.url, "/storage/v1/b/faults/o?prefix=")
    with pytest.raises((ValueError, KeyError, TypeError)):
        json.loads(body)["items"][0]["generation"]
    assert media(proxy)[2] == CONTENT


def test_a_token_expires_once(proxy):
    assert spoilt(proxy, "expired_token")[0] == 200
    assert spoilt(proxy, "expired_token", Authorization="Bearer x")[0] == 401
    assert spoilt(proxy, "expired_token", Authorization="Bearer y")[0] == 200


def outcomes(server, seed):
    found = []
    with FaultProxy(server.url, seed) as proxy:
        proxy.stall_seconds = proxy.slow_seconds = 0.01
        proxy.spoil(0.5)
        for number in range(40):
            try:
                found.append(media(proxy, f"&n={number % 20}")[0::2])
            except ANY_ERROR as error:
                found.append(type(error).__name__)
        return found, proxy.faults()


def test_a_seed_gives_the_same_faults_again(fake_gcs, generation):
    first, second = outcomes(fake_gcs, 3), outcomes(fake_gcs, 3)
    assert first == second
    assert first != outcomes(fake_gcs, 4)
    assert 10 <= sum(first[1].values()) <= 35
    assert set(first[1]) <= set(KINDS)


def test_requests_want_a_token_of_the_machines(fake_gcs, generation):
    with MetadataServer() as machine, \
            FaultProxy(fake_gcs.url, accepts=machine.accepts) as proxy:
        assert media(proxy)[0] == 401
        url = "http://" + machine.host
        assert ask(url, ACCOUNT + "token")[0] == 403
        answer = ask(url, ACCOUNT + "token", **{"Metadata-Flavor": "Google"})
        token = json.loads(answer[2])["access_token"]
        assert media(proxy, Authorization=f"Bearer {token}")[0] == 200
        assert media(proxy, Authorization="Bearer token-2")[0] == 401
