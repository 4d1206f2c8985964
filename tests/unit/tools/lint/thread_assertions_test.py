"""The rule about assertions on other threads than the test's own."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "tools" / "lint"))
thread_assertions = __import__("thread_assertions")


def lines(text):
    return [found.split(": ")[0] for found in
            thread_assertions.findings("a_test.cc", text)]


@pytest.mark.parametrize("text", [
    "std::thread reader([&] { CHECK(read == 1); });",
    "std::thread([&] { REQUIRE(read == 1); }).join();",
    "threads.emplace_back([&] { CHECK_THAT(a, b); });",
    "auto later = std::async([&] { CAPTURE(a); });",
    "executor.Submit(1, {1}, [&](int) { CHECK(a); });",
    "executor.SubmitFor(flows, demand, [&](int) { CHECK(a); });",
    "const HttpServer server([](const Asked&, Peer& peer) { CHECK(a); });",
    "request.done = [&](const ReadResult& result) { CHECK(result.ok()); };",
    "requests.back().done = [&] { FOREBAY_CHECK_OK(a); };",
    "request.done = Into([&](Result result) { CHECK(result.ok()); });",
    "server_.SetFaults([&](const HttpServer::Asked&) { CHECK(a); });",
    "waiter.PostAfter(3000, [&] { CHECK(a); });",
    "waiter.Watch(fd, [&] { INFO(a); return true; });",
    "pool.Run(key, [&] { CHECK(a); });",
    "std::thread([&] { CHECK_NOTHROW(a); }).join();",
])
def test_finds_an_assertion_that_a_thread_would_make(text):
    assert lines("\n" + text) == ["a_test.cc:2"]


@pytest.mark.parametrize("text", [
    "std::thread reader([&] { read = Read(); }); CHECK(read == 1);",
    "std::thread reader([&] { // CHECK(a)\n text = \"CHECK(a)\"; });",
    "request.done = [&](const ReadResult& result) { kept = result; };\nCHECK(kept);",
    "executor.Submit(1, {1}, [&](int) { ++count; });\nCHECK(count == 1);",
])
def test_passes_what_the_tests_own_thread_asserts(text):
    assert lines(text) == []
