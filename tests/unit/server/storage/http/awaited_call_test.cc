// Tests of calls that a client waits for: hosts that do not answer.

#include "server/storage/http/awaited_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using ::testing::MatchesRegex;

constexpr std::int64_t kSecond = 1'000'000'000;

class AwaitedCallTest : public ::testing::Test {
 protected:
  AwaitedCallTest() : engine_(*Engine::Create({16, &clock_})) {
    RetryOptions options;
    options.attempts = 1000;
    client_.emplace(engine_.get(), options, 1);
  }

  std::future<absl::StatusOr<Answer>> Begin(const std::string& path,
                                            const std::stop_token& stop = {}) {
    Call call;
    call.request.url = server_.url() + path;
    return std::async(std::launch::async, [this, call, stop] {
      return Await(&*client_, call, stop);
    });
  }
  // Waits for so many requests at the server.
  void AwaitAsked(int count) {
    while (asked_ < count) std::this_thread::yield();
  }
  // Returns the number of retries so far, once the engine has turned.
  int Retries() {
    std::promise<int> retries;
    engine_->Post(
        [&] { retries.set_value(static_cast<int>(client_->retries())); });
    return retries.get_future().get();
  }
  // Lets time go by. The engine has seen it when this returns.
  void Advance(std::int64_t nanos) {
    clock_.Advance(nanos);
    for (int i = 0; i < 3; ++i) Retries();
  }
  static bool IsOver(std::future<absl::StatusOr<Answer>>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }
  std::string Said(std::future<absl::StatusOr<Answer>> answer) const {
    return std::string(answer.get().status().message());
  }

  std::atomic<int> asked_ = 0;
  // Answers the n-th request, from 1 on; false: never.
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

TEST_F(AwaitedCallTest, AHostThatNeverAnswersIsGivenUp) {
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(12 * kSecond);
  EXPECT_FALSE(IsOver(answer));
  Advance(kSecond);
  const absl::Status status = answer.get().status();
  EXPECT_EQ(status, absl::UnavailableError(
                        server_.url() +
                        " has not answered for 13 s: it is connected, and "
                        "sends nothing"));
}

TEST_F(AwaitedCallTest, AClosedPortIsGivenUpAsSoon) {
  const std::string url =
      HttpServer([](const HttpServer::Asked&, HttpServer::Peer&) {}).url();
  Call call;
  call.request.url = url + "/x";
  auto answer =
      std::async(std::launch::async, [&] { return Await(&*client_, call); });
  int tenths = 0;
  for (; !IsOver(answer); ++tenths) Advance(kSecond / 10);
  EXPECT_GE(tenths, 120);
  EXPECT_THAT(Said(std::move(answer)),
              MatchesRegex(url + " has not answered for 1[23] s: Failed to "
                                 "connect to .*"));
}

TEST_F(AwaitedCallTest, ARequestWithoutAnAnswerIsMadeOnceMore) {
  answers_ = [](int number) { return number == 2; };
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(kAwaitedRepeatNanos - 1);
  EXPECT_EQ(asked_, 1);
  Advance(1);
  const auto got = answer.get();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->body, "hello");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(client_->ledger().Of(0).others.hedges, 1u);
}

TEST_F(AwaitedCallTest, TheFirstRequestMayBeAnsweredAfterAll) {
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
  EXPECT_TRUE(answer.get().ok());
}

TEST_F(AwaitedCallTest, AHostThatAnswersOthersIsAwaitedForLonger) {
  auto answer = Begin("/");
  AwaitAsked(1);
  Advance(2 * kSecond);
  EXPECT_TRUE(Begin("/good").get().ok());
  int seconds = 2;
  for (; !IsOver(answer); ++seconds) Advance(kSecond);
  EXPECT_GE(seconds, 59);
  EXPECT_THAT(Said(std::move(answer)),
              MatchesRegex(".* has not answered for (59|60) s: .*"));
}

TEST_F(AwaitedCallTest, ACallThatIsAnsweredHasItsAttempts) {
  auto answer = Begin("/busy");
  for (int attempt = 1; attempt < kAwaitedAttempts; ++attempt) {
    AwaitAsked(attempt);
    while (Retries() < attempt) std::this_thread::yield();
    Advance(30 * kSecond);
  }
  EXPECT_EQ(Said(std::move(answer)), "the server answers 503");
  EXPECT_EQ(asked_, kAwaitedAttempts);
}

TEST_F(AwaitedCallTest, ACallThatNamesItsAttemptsHasNoPatience) {
  Call call;
  call.request.url = server_.url();
  call.attempts = 1;
  auto answer =
      std::async(std::launch::async, [&] { return Await(&*client_, call); });
  AwaitAsked(1);
  Advance(19 * kSecond);
  EXPECT_FALSE(IsOver(answer));
  Advance(kSecond);
  EXPECT_EQ(Said(std::move(answer)), "no answer came in time");
  EXPECT_EQ(asked_, 1);
}

TEST_F(AwaitedCallTest, StopsSoon) {
  std::stop_source stop;
  auto answer = Begin("/", stop.get_token());
  AwaitAsked(1);
  Advance(5 * kSecond);
  AwaitAsked(2);
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(answer.get().status()));
  auto late = Begin("/", stop.get_token());
  EXPECT_TRUE(absl::IsCancelled(late.get().status()));
}

}  // namespace
}  // namespace forebay::storage::http
