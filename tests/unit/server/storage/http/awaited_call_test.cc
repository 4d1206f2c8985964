// Tests of calls whose caller waits, to hosts that do not answer.

#include "server/storage/http/awaited_call.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "server/base/clock.h"
#include "server/storage/http/engine.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using tests::HasCode;
using tests::IsOk;
using tests::MatchesRegex;

constexpr std::int64_t kSecond = 1'000'000'000;

class AwaitedCallTest {
 protected:
  AwaitedCallTest() : engine_(*Engine::Create({16, &clock_})) {
    RetryOptions options;
    options.attempts = 1000;
    client_.emplace(engine_.get(), options, 1);
  }

  std::future<absl::StatusOr<HttpResponse>> Begin(
      const std::string& path, const std::stop_token& stop = {}) {
    Call call;
    call.request.url = server_.url() + path;
    return std::async(std::launch::async, [this, call, stop] {
      return Await(&*client_, call, stop);
    });
  }
  // Waits until `count` requests have come to the server.
  void AwaitAsked(int count) {
    while (asked_ < count) std::this_thread::yield();
  }
  // Returns the number of retries so far, after the engine's thread has run
  // once.
  int Retries() {
    std::promise<int> retries;
    engine_->Post(
        [&] { retries.set_value(static_cast<int>(client_->retries())); });
    return retries.get_future().get();
  }
  // Advances the time. When this returns, the engine has noticed it.
  void Advance(std::int64_t nanos) {
    clock_.Advance(nanos);
    for (int i = 0; i < 3; ++i) Retries();
  }
  static bool IsOver(std::future<absl::StatusOr<HttpResponse>>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }
  std::string Said(std::future<absl::StatusOr<HttpResponse>>& answer) const {
    return std::string(answer.get().status().message());
  }

  std::atomic<int> asked_ = 0;
  // Whether request number n is answered, with n counted from 1.
  std::function<bool(int)> answers_ = [](int) { return false; };
  base::FakeClock clock_;
  HttpServer server_{
      [this](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        const int number = ++asked_;
        if (asked.target == "/busy")
          peer.Answer(503, "", "");
        else if (asked.target == "/good" || answers_(number))
          peer.Answer(200, "", "hello");
        else
          peer.AwaitHangUp();
      }};
  std::unique_ptr<Engine> engine_;
  std::optional<Client> client_;
};

TEST_CASE_METHOD(AwaitedCallTest,
                 "An awaited call gives up a host that never answers",
                 "[http][awaited_call]") {
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(12 * kSecond);
  CHECK_FALSE(IsOver(answer));
  Advance(kSecond);
  const absl::Status status = answer.get().status();
  CHECK(status ==
        absl::UnavailableError(
            server_.url() + " has not answered for 13 s: it is connected, and "
                            "sends nothing"));
}

TEST_CASE_METHOD(
    AwaitedCallTest,
    "An awaited call gives up a closed port as soon as a silent host",
    "[http][awaited_call]") {
  const std::string url =
      HttpServer([](const HttpServer::Asked&, HttpServer::Peer&) {}).url();
  Call call;
  call.request.url = url + "/x";
  auto answer =
      std::async(std::launch::async, [&] { return Await(&*client_, call); });
  int tenths = 0;
  for (; !IsOver(answer); ++tenths) Advance(kSecond / 10);
  CHECK(tenths >= 120);
  CHECK_THAT(Said(answer),
             MatchesRegex(url + " has not answered for 1[23] s: Failed to "
                                "connect to .*"));
}

TEST_CASE_METHOD(AwaitedCallTest,
                 "An awaited call makes a request without an answer once more",
                 "[http][awaited_call]") {
  answers_ = [](int number) { return number == 2; };
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(kAwaitedRepeatNanos - 1);
  CHECK(asked_ == 1);
  Advance(1);
  const auto got = answer.get();
  REQUIRE_THAT(got, IsOk());
  CHECK(got->body == "hello");
  CHECK(asked_ == 2);
  CHECK(client_->ledger().Of(0).others.hedges == 1u);
}

TEST_CASE_METHOD(
    AwaitedCallTest,
    "The first request of an awaited call may be answered after all",
    "[http][awaited_call]") {
  std::promise<void> now;
  answers_ = [&](int number) {
    if (number == 1) now.get_future().wait();
    return number == 1;
  };
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(kAwaitedRepeatNanos);
  AwaitAsked(2);
  now.set_value();
  CHECK_THAT(answer.get(), IsOk());
}

TEST_CASE_METHOD(AwaitedCallTest,
                 "An awaited call waits for longer if the host answers others",
                 "[http][awaited_call]") {
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(2 * kSecond);
  CHECK_THAT(Begin("/good").get(), IsOk());
  int seconds = 2;
  for (; !IsOver(answer); ++seconds) Advance(kSecond);
  CHECK(seconds >= 59);
  CHECK_THAT(Said(answer),
             MatchesRegex(".* has not answered for (59|60) s: .*"));
}

TEST_CASE_METHOD(
    AwaitedCallTest,
    "An awaited call that is answered with errors has all of its attempts",
    "[http][awaited_call]") {
  auto answer = Begin("/busy");
  for (int attempt = 1; attempt < kAwaitedAttempts; ++attempt) {
    AwaitAsked(attempt);
    while (Retries() < attempt) std::this_thread::yield();
    Advance(30 * kSecond);
  }
  CHECK(Said(answer) == "the server answers 503");
  CHECK(asked_ == kAwaitedAttempts);
}

TEST_CASE_METHOD(AwaitedCallTest,
                 "An awaited call that names its attempts makes only these and "
                 "ends with the last",
                 "[http][awaited_call]") {
  Call call;
  call.request.url = server_.url();
  call.attempts = 1;
  auto answer =
      std::async(std::launch::async, [&] { return Await(&*client_, call); });
  AwaitAsked(1);
  Advance(19 * kSecond);
  CHECK_FALSE(IsOver(answer));
  Advance(kSecond);
  CHECK(Said(answer) == "no answer came in time");
  CHECK(asked_ == 1);
}

TEST_CASE_METHOD(AwaitedCallTest,
                 "An awaited call ends soon when it is stopped",
                 "[http][awaited_call]") {
  std::stop_source stop;
  auto answer = Begin("/", stop.get_token());
  AwaitAsked(1);
  Advance(5 * kSecond);
  AwaitAsked(2);
  stop.request_stop();
  CHECK_THAT(answer.get(), HasCode(absl::StatusCode::kCancelled));
  auto late = Begin("/", stop.get_token());
  CHECK_THAT(late.get(), HasCode(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace forebay::storage::http
