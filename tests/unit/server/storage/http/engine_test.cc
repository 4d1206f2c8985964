#include "server/storage/http/engine.h"

#include <atomic>
#include <barrier>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/storage/http/engine_fixture.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::Pointee;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE_METHOD(
    EngineTest, "The HTTP engine gives an answer's status and headers and body",
    "[http][engine]") {
  const HttpResponse answer = Get(To("/a%20b?c=d"));
  CAPTURE(answer.reason);
  CHECK(answer.failure == HttpFailure::kNone);
  CHECK(answer.status == 200);
  CHECK(answer.body == "hello");
  CHECK_THAT(answer.Header("x-path"), Pointee(std::string("/a%20b?c=d")));
  CHECK_THAT(answer.Header("x-two"), Pointee(std::string("b c")));
  CHECK(answer.Header("x-three") == nullptr);
}

TEST_CASE_METHOD(
    EngineTest, "The HTTP engine sends a request's method and headers and body",
    "[http][engine]") {
  HttpServer::Asked got;
  handler_ = [&got](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    got = asked;
    peer.Answer(204, "", "");
  };
  HttpRequest request = To("/../up/./x");
  request.method = "POST";
  request.headers = {"Range: bytes=3-7", "X-Mine: yes"};
  request.body = std::string("a\0b", 3);
  CHECK(Get(request).status == 204);
  CHECK(got.method == "POST");
  CHECK(got.target == "/../up/./x");
  CHECK(got.headers["range"] == "bytes=3-7");
  CHECK(got.headers["x-mine"] == "yes");
  CHECK(got.body == std::string("a\0b", 3));
  CHECK(got.headers.count("accept-encoding") == 0);
  request = To("/");
  request.method = "HEAD";
  CHECK(Get(request).status == 204);
  CHECK(got.method == "HEAD");
}

TEST_CASE_METHOD(EngineTest,
                 "The HTTP engine fills the buffer and not a byte more",
                 "[http][engine]") {
  std::vector<std::uint8_t> buffer(8, 0xEE);
  HttpRequest request = To("/");
  request.into = absl::MakeSpan(buffer).first(5);
  HttpResponse answer = Get(request);
  CHECK(answer.failure == HttpFailure::kNone);
  CHECK(answer.filled == 5);
  CHECK(std::string(buffer.begin(), buffer.begin() + 5) == "hello");
  request.into = absl::MakeSpan(buffer).first(4);
  answer = Get(request);
  CHECK(answer.failure == HttpFailure::kTooLong);
  CHECK(answer.status == 200);
  CHECK(buffer[5] == 0xEE);
  request = To("/");
  request.max_body = 4;
  answer = Get(request);
  CHECK(answer.failure == HttpFailure::kTooLong);
  CHECK_THAT(answer.reason, Contains("longer than 4 bytes"));
}

TEST_CASE_METHOD(EngineTest,
                 "The HTTP engine keeps the beginning of an error's body",
                 "[http][engine]") {
  handler_ = [](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(404, "", "gone" + std::string(100'000, '!'));
  };
  std::vector<std::uint8_t> buffer(8, 0xEE);
  HttpRequest request = To("/");
  request.into = absl::MakeSpan(buffer);
  const HttpResponse answer = Get(request);
  CHECK(answer.failure == HttpFailure::kNone);
  CHECK(answer.status == 404);
  CHECK(answer.body.size() == 4096);
  CHECK(answer.filled == 0);
  CHECK(buffer[0] == 0xEE);
}

TEST_CASE_METHOD(EngineTest, "The HTTP engine uses connections again",
                 "[http][engine]") {
  std::atomic<int> last = 0;
  handler_ = [&last](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    last = asked.connection;
    peer.Answer(200, "", "");
  };
  for (int i = 0; i < 5; ++i) CHECK(Get(To("/")).status == 200);
  CHECK(last == 1);
}

// The engine keeps 16 idle connections. Connections in use do not count towards
// these.
TEST_CASE_METHOD(EngineTest,
                 "The HTTP engine uses connections again even if more are in "
                 "use than it keeps",
                 "[http][engine]") {
  constexpr int kChains = 64;
  constexpr int kRounds = 5;
  std::barrier<> all(kChains);
  std::atomic<int> last = 0;
  handler_ = [&](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    for (int seen = last; seen < asked.connection;)
      if (last.compare_exchange_weak(seen, asked.connection)) break;
    all.arrive_and_wait();  // all connections are in use
    peer.Answer(200, "", "");
  };
  std::latch over(kChains);
  std::function<void(int)> ask = [&](int round) {
    HttpRequest request = To("/");
    request.done = [&, round](const HttpResponse&) {
      round < kRounds ? ask(round + 1) : over.count_down();
    };
    engine_->Start(std::move(request));
  };
  for (int i = 0; i < kChains; ++i) engine_->Post([&ask] { ask(1); });
  over.wait();
  CHECK(last == kChains);
}

TEST_CASE_METHOD(EngineTest, "The HTTP engine makes many requests at once",
                 "[http][engine]") {
  constexpr int kRequests = 50;
  std::latch all(kRequests);
  handler_ = [&all](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    all.arrive_and_wait();  // no request is answered before all have come
    peer.Answer(200, "", asked.target);
  };
  std::vector<std::future<HttpResponse>> answers;
  for (int i = 0; i < kRequests; ++i)
    answers.push_back(Begin(To("/" + std::to_string(i))));
  for (int i = 0; i < kRequests; ++i)
    CHECK(answers[i].get().body == "/" + std::to_string(i));
}

TEST_CASE_METHOD(
    EngineTest,
    "A caller that is told of an HTTP answer may give up before the body comes",
    "[http][engine]") {
  std::vector<std::uint8_t> buffer(5, 0xEE);
  HttpRequest request = To("/");
  request.into = absl::MakeSpan(buffer);
  request.begins = [] { return false; };
  CHECK(Get(request).failure == HttpFailure::kCancelled);
  CHECK(buffer[0] == 0xEE);
}

TEST_CASE_METHOD(EngineTest,
                 "Cancelled requests of the HTTP engine are not answered",
                 "[http][engine]") {
  std::latch asked_for(1);
  std::latch hung_up(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    asked_for.count_down();
    peer.AwaitHangUp();
    hung_up.count_down();
  };
  Engine::Id id = 0;
  HttpRequest request = To("/");
  std::atomic<bool> answered = false;
  request.done = [&](const HttpResponse&) { answered = true; };
  Engine* const engine = engine_.get();
  engine->Post([&] { id = engine->Start(request); });
  asked_for.wait();
  engine->Post([&] { engine->Cancel(id); });
  hung_up.wait();
  engine_.reset();
  CHECK_FALSE(answered);
}

TEST_CASE_METHOD(
    EngineTest,
    "Destruction of the HTTP engine answers the requests that are left",
    "[http][engine]") {
  std::latch asked_for(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    asked_for.count_down();
    peer.AwaitHangUp();
  };
  std::future<HttpResponse> first = Begin(To("/"));
  asked_for.wait();
  std::future<HttpResponse> second = Begin(To("/"));
  engine_.reset();
  CHECK(first.get().failure == HttpFailure::kCancelled);
  CHECK(second.get().failure == HttpFailure::kCancelled);
}

TEST_CASE_METHOD(EngineTest, "Timers of the HTTP engine go by its clock",
                 "[http][engine]") {
  std::string log;
  std::promise<void> last;
  engine_->Post([&] {
    engine_->At(2 * kSecond, [&] {
      log += 'b';
      last.set_value();
    });
    engine_->At(1 * kSecond, [&] { log += 'a'; });
    engine_->At(9 * kSecond, [&] { log += 'c'; });
  });
  Advance(2 * kSecond);
  last.get_future().wait();
  engine_.reset();
  CHECK(log == "ab");
}

TEST_CASE("Without a thread there is no HTTP engine", "[http][engine]") {
  absl::Status status;
  {
    const base::NoThreads refused;
    status = Engine::Create().status();
  }
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(), Contains("no thread for HTTP requests"));
}

}  // namespace
}  // namespace forebay::storage::http
