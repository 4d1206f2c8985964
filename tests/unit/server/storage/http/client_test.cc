#include "server/storage/http/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/storage/http/awaited_call.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() : engine_(*Engine::Create({16, &clock_})) { Renew(1); }

  void Renew(int attempts) {
    RetryOptions options;
    options.attempts = attempts;
    options.first_delay_nanos = 0;  // no test waits
    client_.emplace(engine_.get(), options, 1);
  }

  Call To(const std::string& path) {
    Call call;
    call.request.url = server_.url() + path;
    return call;
  }

  // The n-th request meets the n-th fault; later ones meet none.
  void Script(std::vector<Fault> faults) {
    faults_ = std::move(faults);
    asked_ = 0;
  }

  void OnEngine(const std::function<void()>& task) {
    std::promise<void> done;
    engine_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::uint64_t Retries() {
    std::uint64_t retries = 0;
    OnEngine([&] { retries = client_->retries(); });
    return retries;
  }
  void AwaitRetries(std::uint64_t count) {
    while (Retries() < count) std::this_thread::yield();
  }

  std::vector<Fault> faults_;
  std::atomic<std::size_t> asked_ = 0;
  std::function<void(const HttpServer::Asked&)> on_ask_;
  base::FakeClock clock_;
  HttpServer server_{
      [this](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        const std::size_t number = asked_++;
        if (on_ask_) on_ask_(asked);
        SendWith(number < faults_.size() ? faults_[number] : Fault::kNone,
                 {200, "X-Number: " + std::to_string(number) + "\r\n", "hello"},
                 peer);
      }};
  std::unique_ptr<Engine> engine_;
  std::optional<Client> client_;
};

TEST_F(ClientTest, TriesAgainUntilAllIsWell) {
  Renew(10);
  Script({Fault::k503, Fault::kResetAtOnce, Fault::kResetInBody,
          Fault::kTruncate, Fault::k408, Fault::k503});
  const auto answer = Await(&*client_, To("/"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(asked_, 7);
}

TEST_F(ClientTest, GivesUpAndSaysWhy) {
  Renew(3);
  Script(std::vector<Fault>(10, Fault::k503));
  const absl::Status status = Await(&*client_, To("/")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()),
            "the server answers 503 (over loaded), after 3 attempts");
  EXPECT_EQ(asked_, 3);
}

TEST_F(ClientTest, WaitsForAsLongAsTheServerAsks) {
  Renew(3);
  Script({Fault::k429});
  std::future<absl::StatusOr<Answer>> answer = std::async(
      std::launch::async, [this] { return Await(&*client_, To("/")); });
  AwaitRetries(1);
  clock_.Advance(7 * kSecond - 1);
  AwaitRetries(1);
  EXPECT_EQ(asked_, 1);
  clock_.Advance(1);
  AwaitRetries(1);
  EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(asked_, 2);
}

TEST_F(ClientTest, StalledAnswersAreTriedAgain) {
  Renew(3);
  Script({Fault::kStall});
  std::promise<absl::StatusOr<Answer>> answer;
  Call call = To("/");
  call.request.timeouts.window_bytes = 100;
  call.done = [&](absl::StatusOr<Answer> result) {
    answer.set_value(std::move(result));
  };
  Client::Id id = 0;
  OnEngine([&] { id = client_->Start(call); });
  bool begun = false;
  while (!begun) OnEngine([&] { begun = client_->HeardNanos(id) >= 0; });
  while (Retries() < 1) clock_.Advance(100 * kSecond);
  EXPECT_TRUE(answer.get_future().get().ok());
}

TEST_F(ClientTest, JudgesMayAskForAnotherTry) {
  Renew(5);
  int judged = 0;
  Call call = To("/");
  call.judge = [&judged](const Answer&) {
    return ++judged < 3 ? absl::DataLossError("spoilt") : absl::OkStatus();
  };
  EXPECT_TRUE(Await(&*client_, call).ok());
  EXPECT_EQ(asked_, 3);
  call.judge = [](const Answer&) {
    return absl::FailedPreconditionError("other");
  };
  EXPECT_EQ(Await(&*client_, call).status(),
            absl::FailedPreconditionError("other"));
  EXPECT_EQ(asked_, 4);
}

TEST_F(ClientTest, ErrorsThatLastAreNotTriedAgain) {
  Renew(5);
  for (const auto& [status, code] :
       std::vector<std::pair<int, absl::StatusCode>>{
           {400, absl::StatusCode::kInvalidArgument},
           {401, absl::StatusCode::kPermissionDenied},
           {403, absl::StatusCode::kPermissionDenied},
           {404, absl::StatusCode::kNotFound},
           {412, absl::StatusCode::kFailedPrecondition},
           {416, absl::StatusCode::kFailedPrecondition},
           {302, absl::StatusCode::kInvalidArgument}}) {
    int asked = 0;
    const HttpServer server(
        [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
          ++asked;
          peer.Answer(status, "Location: http://elsewhere/\r\n", "\1why\xff");
        });
    Call call;
    call.request.url = server.url();
    const absl::Status error = Await(&*client_, call).status();
    EXPECT_EQ(error.code(), code) << error;
    EXPECT_EQ(asked, 1);
    for (const char c : error.message()) EXPECT_TRUE(c >= ' ' && c < 127);
  }
}

class Badges final : public Authorizer {
 public:
  void Authorize(const Request&,
                 std::function<void(absl::StatusOr<Headers>)> ready) override {
    ++asked;
    if (!error.ok()) return ready(error);
    ready(Now());
  }
  bool Refused(const Headers& headers, const Answer& answer) override {
    if (answer.status != 401) return false;
    if (headers == Now()) ++badge;
    return true;
  }
  int asked = 0;
  int badge = 1;
  absl::Status error;

 private:
  Headers Now() const {
    return {"Authorization: Bearer " + std::to_string(badge)};
  }
};

TEST_F(ClientTest, ShowsAnotherBadgeWhenOneIsRefused) {
  Renew(5);
  Badges badges;
  const HttpServer server(
      [](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        const bool good = asked.headers.at("authorization") == "Bearer 2";
        peer.Answer(good ? 200 : 401, "", "");
      });
  Call call;
  call.request.url = server.url();
  call.authorizer = &badges;
  EXPECT_TRUE(Await(&*client_, call).ok());
  EXPECT_EQ(badges.asked, 2);
  badges.badge = 3;
  EXPECT_EQ(Await(&*client_, call).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(badges.asked, 4);
  badges.error = absl::PermissionDeniedError("no badge");
  EXPECT_EQ(Await(&*client_, call).status(), badges.error);
}

TEST_F(ClientTest, ABadgeMayEndWhenMuchHasGoneWrong) {
  Renew(5);
  Badges badges;
  std::atomic<int> asked = 0;
  const HttpServer server(
      [&asked](const HttpServer::Asked& request, HttpServer::Peer& peer) {
        const bool good = request.headers.at("authorization") == "Bearer 2";
        peer.Answer(++asked < 3 ? 503 : good ? 200 : 401, "", "");
      });
  Call call;
  call.request.url = server.url();
  call.authorizer = &badges;
  EXPECT_TRUE(Await(&*client_, call).ok());
  EXPECT_EQ(asked, 4);
}

TEST_F(ClientTest, BooksWhatItAsksFor) {
  Renew(5);
  Script({Fault::k503, Fault::kTruncate});
  std::vector<int> seen;
  Call call = To("/");
  call.job = 7;
  call.kind = RequestKind::kList;
  call.saw = [&seen](const Answer& answer, int attempt) {
    seen.push_back(10 * answer.status + attempt);
  };
  EXPECT_TRUE(Await(&*client_, call).ok());
  EXPECT_EQ(seen, (std::vector<int>{5031, 2002, 2003}));
  const RequestCounts lists = client_->ledger().Of(7).lists;
  EXPECT_EQ(lists.requests, 3u);
  EXPECT_EQ(lists.retries, 2u);
  EXPECT_EQ(lists.failures, 2u);
  EXPECT_EQ(lists.hedges, 0u);
  EXPECT_GE(lists.bytes, 5u);
}

// Follows redirects to the server itself.
TEST_F(ClientTest, TheTimeToTheFirstByteIsThatOfAllRedirects) {
  Renew(1);
  const HttpServer server([&](const HttpServer::Asked& asked,
                              HttpServer::Peer& peer) {
    clock_.Advance(kSecond);
    if (asked.target == "/c") return peer.Answer(200, "", "hello");
    peer.Answer(
        307, asked.target == "/a" ? "Location: b\r\n" : "Location: c\r\n", "");
  });
  Call call;
  call.request.url = server.url() + "/a";
  call.follow = [&](const Answer& answer) {
    return absl::StatusOr<std::string>(server.url() + "/" +
                                       *answer.Header("location"));
  };
  const auto answer = Await(&*client_, std::move(call));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->first_byte_nanos, 3 * kSecond);
}

TEST_F(ClientTest, ErrorsDoNotShowTheQueryOfARedirect) {
  const HttpServer server([](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(302, "Location: https://h/x?delegation=secret\r\n", "");
  });
  Call call;
  call.request.url = server.url();
  EXPECT_EQ(Await(&*client_, std::move(call)).status(),
            absl::InvalidArgumentError(
                "has moved: give the address (https://h/x) that it moved to"));
}

TEST_F(ClientTest, CancelledCallsAreNotAnswered) {
  Renew(5);
  std::latch asked(1);
  std::latch hung_up(1);
  const HttpServer server(
      [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
        asked.count_down();
        peer.AwaitHangUp();
        hung_up.count_down();
      });
  bool answered = false;
  Call call;
  call.request.url = server.url();
  call.done = [&](const absl::StatusOr<Answer>&) { answered = true; };
  Client::Id id = 0;
  engine_->Post([&] { id = client_->Start(call); });
  asked.wait();
  engine_->Post([&] { client_->Cancel(id); });
  hung_up.wait();
  client_.reset();
  EXPECT_FALSE(answered);
}

TEST_F(ClientTest, AHostThatFailsTakesNoRetriesFromAnother) {
  RetryOptions options;
  options.first_delay_nanos = options.max_delay_nanos = 0;
  options.retry_burst = 1;
  client_.emplace(engine_.get(), options, 1);
  const HttpServer broken([](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(503, "", "");
  });
  Call call;
  call.request.url = broken.url();
  EXPECT_EQ(Await(&*client_, call).status(),
            absl::UnavailableError("the server answers 503, after 2 attempts"));
  EXPECT_EQ(Await(&*client_, call).status(),
            absl::UnavailableError("the server answers 503, after 1 attempts"));
  Script({Fault::k503});
  EXPECT_TRUE(Await(&*client_, To("/")).ok());
}

TEST_F(ClientTest, HostsWithoutCallsAreForgotten) {
  OnEngine([&] {
    for (int i = 0; i < 1000; ++i) {
      Call call;
      call.request.url = "none://host" + std::to_string(i);
      client_->Cancel(client_->Start(std::move(call)));
    }
    EXPECT_LE(client_->hosts(), 64);
  });
}

TEST_F(ClientTest, DestructionAnswersWhatIsLeft) {
  Renew(5);
  Script({Fault::k429});
  std::promise<absl::StatusOr<Answer>> promise;
  Call call = To("/");
  call.done = [&](absl::StatusOr<Answer> answer) {
    promise.set_value(std::move(answer));
  };
  engine_->Post([&] { client_->Start(call); });
  AwaitRetries(1);
  client_.reset();
  EXPECT_EQ(promise.get_future().get().status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace forebay::storage::http
