// Tests of requests that are made twice because the server answers late.

#include "server/storage/http/hedged_client.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kSecond = 1'000'000'000;
const std::string kText = "hello, hello";

class HedgedClientTest {
 protected:
  using Step = std::function<void(HttpServer::Peer&)>;

  HedgedClientTest() : engine_(*Engine::Create({16, &clock_})) {
    RetryOptions options;
    options.attempts = 4;
    options.first_delay_nanos = 0;  // retries come at once
    client_.emplace(engine_.get(), options, 1);
    calls_ = std::make_unique<HedgedClient>(&*client_, HedgeOptions());
  }
  ~HedgedClientTest() {
    OnEngine([this] { calls_.reset(); });
    client_.reset();
    engine_.reset();
  }

  // Request number n gets step number n. Later requests get a good answer.
  void Script(std::vector<Step> steps) { steps_ = std::move(steps); }
  static void Good(HttpServer::Peer& peer) {
    SendWith(Fault::kNone, {200, "", kText}, peer);
  }
  static Step Spoilt(Fault fault) {
    return [fault](HttpServer::Peer& peer) {
      SendWith(fault, {200, "", kText}, peer);
    };
  }
  // Returns a step that sends no answer, and counts when the client has hung
  // up.
  Step Silent() {
    return [this](HttpServer::Peer& peer) {
      peer.AwaitHangUp();
      ++hung_up_;
    };
  }

  void OnEngine(const std::function<void()>& task) {
    std::promise<void> done;
    engine_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  // AwaitAsked waits for `count` requests without advancing the time.
  // AwaitAskedLater advances the time until the last of them is made. Before
  // that it waits until the others are at the server, which answers in the
  // order of arrival.
  void AwaitAsked(int count) {
    while (asked_ < count) std::this_thread::yield();
  }
  void AwaitAskedLater(int count) {
    AwaitAsked(count - 1);
    while (Booked().requests < count) {
      clock_.Advance(kSecond / 10);
      OnEngine([] {});
    }
    AwaitAsked(count);
  }

  // Starts a call that writes to `buffer_`. The call's result comes in
  // `answer_`.
  HedgedClient::Id Start() {
    answer_ = promise_.emplace().get_future();
    buffer_.assign(kText.size(), '-');
    Call call;
    call.request.url = server_.url() + "/";
    call.request.into = {reinterpret_cast<std::uint8_t*>(buffer_.data()),
                         buffer_.size()};
    call.done = [this](absl::StatusOr<HttpResponse> answer) {
      promise_->set_value(std::move(answer));
    };
    call.job = 3;
    call.kind = RequestKind::kGet;
    HedgedClient::Id id = 0;
    OnEngine([&] { id = calls_->Start(call); });
    return id;
  }
  void ExpectGood() {
    const auto answer = answer_.get();
    REQUIRE_THAT(answer, IsOk());
    CHECK(buffer_ == kText);
  }
  RequestCounts Booked() const { return client_->ledger().Of(3).gets; }

  std::vector<Step> steps_;
  std::atomic<int> asked_ = 0;
  std::atomic<int> hung_up_ = 0;
  base::FakeClock clock_;
  HttpServer server_{[this](const HttpServer::Asked&, HttpServer::Peer& peer) {
    const std::size_t number = asked_++;
    number < steps_.size() ? steps_[number](peer) : Good(peer);
  }};
  std::unique_ptr<Engine> engine_;
  std::optional<Client> client_;
  std::unique_ptr<HedgedClient> calls_;
  std::string buffer_;
  std::optional<std::promise<absl::StatusOr<HttpResponse>>> promise_;
  std::future<absl::StatusOr<HttpResponse>> answer_;
};

TEST_CASE_METHOD(HedgedClientTest,
                 "A hedged call that is answered in time is asked once",
                 "[http][hedged_client]") {
  Start();
  ExpectGood();
  CHECK(asked_ == 1);
  CHECK(Booked().requests == 1u);
  CHECK(Booked().bytes == kText.size());
}

TEST_CASE_METHOD(
    HedgedClientTest,
    "A hedged call that is late is asked again and its first request given up",
    "[http][hedged_client]") {
  Script({Silent(), Good});
  Start();
  AwaitAsked(1);
  CHECK(asked_ == 1);
  AwaitAskedLater(2);
  ExpectGood();
  while (hung_up_ < 1) std::this_thread::yield();
  CHECK(asked_ == 2);
  CHECK(Booked().requests == 2u);
  CHECK(Booked().hedges == 1u);
  CHECK(Booked().retries == 0u);
  CHECK(Booked().failures == 0u);
}

TEST_CASE_METHOD(
    HedgedClientTest,
    "The first request of a hedged call may be answered first after all",
    "[http][hedged_client]") {
  std::promise<void> now;
  Script({[&](HttpServer::Peer& peer) {
            now.get_future().wait();
            Good(peer);
          },
          Silent()});
  Start();
  AwaitAskedLater(2);
  now.set_value();
  ExpectGood();
  while (hung_up_ < 1) std::this_thread::yield();
  CHECK(Booked().hedges == 1u);
}

TEST_CASE_METHOD(HedgedClientTest,
                 "A second request that fails does no harm to a hedged call",
                 "[http][hedged_client]") {
  std::promise<void> now;
  Script({[&](HttpServer::Peer& peer) {
            now.get_future().wait();
            Good(peer);
          },
          Spoilt(Fault::k503)});
  Start();
  AwaitAskedLater(2);
  while (Booked().failures < 1) std::this_thread::yield();
  now.set_value();
  ExpectGood();
  CHECK(asked_ == 2);
}

TEST_CASE_METHOD(HedgedClientTest,
                 "A second request that breaks off is taken over by a hedged "
                 "call's first request",
                 "[http][hedged_client]") {
  std::promise<void> now;
  Script({[&](HttpServer::Peer& peer) {
            now.get_future().wait();
            Good(peer);
          },
          Spoilt(Fault::kResetInBody)});
  Start();
  AwaitAskedLater(2);
  while (Booked().failures < 1) std::this_thread::yield();
  now.set_value();
  ExpectGood();
}

TEST_CASE_METHOD(
    HedgedClientTest,
    "A hedged call is asked anew after both of its requests have broken off",
    "[http][hedged_client]") {
  // The client cancels the first request while the second answer is being
  // written. That answer is then cut off.
  std::promise<void> first;
  std::promise<void> second;
  Script({[&](HttpServer::Peer& peer) {
            first.get_future().wait();
            Good(peer);
          },
          [&](HttpServer::Peer& peer) {
            peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhell");
            second.get_future().wait();
            peer.Reset();
          }});
  Start();
  AwaitAskedLater(2);
  for (bool begun = false; !begun;)
    OnEngine([&] { begun = buffer_.find('h') != buffer_.npos; });
  first.set_value();
  // When the first request's connection is no longer used, the request is gone.
  std::uint64_t answers = 0;
  for (int i = 0; i < 1000; ++i) OnEngine([&] { answers = calls_->answers(); });
  CHECK(answers == 0u);
  second.set_value();
  ExpectGood();
}

TEST_CASE_METHOD(
    HedgedClientTest,
    "The second request of a hedged call may succeed where the first gives up",
    "[http][hedged_client]") {
  for (const bool is_good : {true, false}) {
    CAPTURE(is_good);
    asked_ = 0;
    const std::uint64_t failed = Booked().failures;
    std::promise<void> first;
    std::promise<void> second;
    const Step broken = Spoilt(Fault::kResetInBody);
    Script({[&](HttpServer::Peer& peer) {
              first.get_future().wait();
              broken(peer);
            },
            [&](HttpServer::Peer& peer) {
              second.get_future().wait();
              if (is_good) return Good(peer);
              Spoilt(Fault::k503)(peer);
            },
            broken, broken, broken});
    Start();
    AwaitAsked(1);
    const std::uint64_t requests = Booked().requests;
    while (Booked().requests <= requests) {
      clock_.Advance(kSecond / 10);
      OnEngine([] {});
    }
    AwaitAsked(2);
    first.set_value();
    while (Booked().failures < failed + 4) std::this_thread::yield();
    second.set_value();
    if (is_good) {
      ExpectGood();
    } else {
      CHECK_THAT(answer_.get().status().message(),
                 Contains("after 4 attempts"));
    }
  }
}

TEST_CASE_METHOD(HedgedClientTest,
                 "An error that lasts ends both requests of a hedged call",
                 "[http][hedged_client]") {
  std::promise<void> now;
  Script({[&](HttpServer::Peer& peer) {
            now.get_future().wait();
            peer.Answer(412, "", "");
          },
          Silent()});
  Start();
  AwaitAskedLater(2);
  now.set_value();
  CHECK_THAT(answer_.get(), HasCode(absl::StatusCode::kFailedPrecondition));
  while (hung_up_ < 1) std::this_thread::yield();
}

TEST_CASE_METHOD(
    HedgedClientTest,
    "A hedged call makes no second request while the server is busy",
    "[http][hedged_client]") {
  Script({Spoilt(Fault::k503), Silent()});
  Start();
  AwaitAsked(2);  // the first request's next attempt
  std::size_t busy = 0;
  OnEngine([&] { busy = calls_->busy(); });
  CHECK(busy == 1u);
  for (int i = 0; i < 9; ++i) {
    clock_.Advance(kSecond / 10);
    OnEngine([] {});
  }
  CHECK(Booked().hedges == 0u);
  AwaitAskedLater(3);
  ExpectGood();
  CHECK(Booked().hedges == 1u);
}

TEST_CASE_METHOD(HedgedClientTest,
                 "A cancelled hedged call is gone with both of its requests",
                 "[http][hedged_client]") {
  Script({Silent(), Silent()});
  const HedgedClient::Id id = Start();
  AwaitAskedLater(2);
  OnEngine([&] { calls_->Cancel(id); });
  while (hung_up_ < 2) std::this_thread::yield();
  CHECK(answer_.wait_for(std::chrono::seconds(0)) ==
        std::future_status::timeout);
}

TEST_CASE_METHOD(HedgedClientTest, "The end of a hedged client ends its calls",
                 "[http][hedged_client]") {
  Script({Silent(), Silent()});
  Start();
  AwaitAskedLater(2);
  OnEngine([&] { calls_.reset(); });
  while (hung_up_ < 2) std::this_thread::yield();
  clock_.Advance(100 * kSecond);  // timers that remain find no call
  OnEngine([] {});
  CHECK(hung_up_ == 2);
}

}  // namespace
}  // namespace forebay::storage::http
