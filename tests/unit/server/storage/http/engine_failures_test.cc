// Tests of requests of the HTTP engine that fail or stall.

#include <cstdint>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "server/storage/http/engine.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/storage/http/engine_fixture.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE_METHOD(EngineTest, "The HTTP engine tells of lost connections",
                 "[http][engine_failures]") {
  const std::vector<std::function<void(HttpServer::Peer&)>> ways = {
      [](HttpServer::Peer& peer) { peer.Reset(); },
      [](HttpServer::Peer& peer) { peer.Close(); },
      [](HttpServer::Peer& peer) {
        peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
        peer.Reset();
      },
      [](HttpServer::Peer& peer) {
        peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
        peer.Close();
      },
      [](HttpServer::Peer& peer) {
        peer.Send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            "5\r\nhello\r\n");
        peer.Close();
      }};
  handler_ = [ways](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    ways[std::stoul(asked.target.substr(1))](peer);
  };
  for (std::size_t way = 0; way < std::size(ways); ++way) {
    const HttpResponse answer = Get(To("/" + std::to_string(way)));
    CAPTURE(answer.reason);
    CHECK(answer.failure == HttpFailure::kLost);
    CHECK_FALSE(answer.reason.empty());
  }
}

TEST_CASE_METHOD(EngineTest, "The HTTP engine tells of what is not HTTP",
                 "[http][engine_failures]") {
  handler_ = [](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Send("220 smtp ready\r\n\r\n");
    peer.Close();
  };
  const HttpFailure failure = Get(To("/")).failure;
  CHECK((failure == HttpFailure::kProtocol || failure == HttpFailure::kLost));
  HttpRequest request = To("/");
  request.url = "ftp://127.0.0.1/";
  CHECK(Get(request).failure == HttpFailure::kInvalid);
  request.url = "http://[/";
  CHECK(Get(request).failure == HttpFailure::kInvalid);
}

TEST_CASE_METHOD(EngineTest,
                 "The HTTP engine tells of a port where nobody listens",
                 "[http][engine_failures]") {
  HttpRequest request;
  {
    const HttpServer gone([](const HttpServer::Asked&, HttpServer::Peer&) {});
    request.url = gone.url();
  }
  CHECK(Get(request).failure == HttpFailure::kConnect);
}

// A failure does not harm the next request, which uses the same curl handle.
TEST_CASE_METHOD(EngineTest, "The HTTP engine works after failures",
                 "[http][engine_failures]") {
  HttpRequest nowhere;
  nowhere.url = "http://nobody.invalid/";
  HttpRequest gone = To("/gone");
  handler_ = [](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    if (asked.target != "/gone") return peer.Answer(200, "", "hello");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhell");
    peer.Reset();
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(Get(nowhere).failure == HttpFailure::kConnect);
    CHECK(Get(To("/")).body == "hello");
    CHECK(Get(gone).failure == HttpFailure::kLost);
    const HttpResponse answer = Get(To("/"));
    CAPTURE(answer.reason);
    CHECK(answer.failure == HttpFailure::kNone);
    CHECK(answer.body == "hello");
  }
}

// .invalid is a name that no host has (RFC 2606).
TEST_CASE_METHOD(EngineTest, "The HTTP engine tells of a name that no host has",
                 "[http][engine_failures]") {
  for (const char* url :
       {"https://nobody.invalid/", "http://nobody.invalid/"}) {
    HttpRequest request;
    request.url = url;
    const HttpResponse answer = Get(request);
    UNSCOPED_INFO(url << answer.reason);
    CHECK(answer.failure == HttpFailure::kConnect);
  }
}

TEST_CASE_METHOD(
    EngineTest,
    "The HTTP engine gives up a request without a first byte in time",
    "[http][engine_failures]") {
  std::latch asked_for(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    asked_for.count_down();
    peer.AwaitHangUp();
  };
  HttpRequest request = To("/");
  request.timeouts.first_byte_nanos = 5 * kSecond;
  std::future<HttpResponse> answer = Begin(request);
  asked_for.wait();
  Advance(5 * kSecond);
  CHECK(answer.get().failure == HttpFailure::kTimeout);
}

TEST_CASE_METHOD(EngineTest, "The HTTP engine gives up a stalled answer",
                 "[http][engine_failures]") {
  handler_ = [](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
    peer.AwaitHangUp();
  };
  std::latch begun(1);
  HttpRequest request = To("/");
  request.timeouts.window_nanos = 2 * kSecond;
  request.begins = [&begun] {
    begun.count_down();
    return true;
  };
  std::future<HttpResponse> answer = Begin(request);
  begun.wait();
  // Bytes that came before this moment start another window.
  Advance(2 * kSecond);
  std::promise<void> looked;
  engine_->Post([&] { engine_->Post([&] { looked.set_value(); }); });
  looked.get_future().wait();
  Advance(2 * kSecond);
  CHECK(answer.get().failure == HttpFailure::kStalled);
}

TEST_CASE_METHOD(EngineTest,
                 "The patience of the HTTP engine lasts while bytes come",
                 "[http][engine_failures]") {
  std::latch more(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhel");
    more.wait();
    peer.Send("lo!");
  };
  std::latch begun(1);
  HttpRequest request = To("/");
  request.timeouts.window_nanos = 2 * kSecond;
  request.begins = [&begun] {
    begun.count_down();
    return true;
  };
  std::future<HttpResponse> answer = Begin(request);
  begun.wait();
  Advance(2 * kSecond - 1);
  more.count_down();
  CHECK(answer.get().body == "hello!");
}

}  // namespace
}  // namespace forebay::storage::http
