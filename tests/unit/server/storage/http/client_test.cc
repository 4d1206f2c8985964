#include "server/storage/http/client.h"

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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kSecond = 1'000'000'000;

class ClientTest {
 protected:
  ClientTest() : engine_(*Engine::Create({16, &clock_})) { Renew(1); }

  void Renew(int attempts) {
    RetryOptions options;
    options.attempts = attempts;
    options.first_delay_nanos = 0;  // retries come at once
    client_.emplace(engine_.get(), options, 1);
  }

  Call To(const std::string& path) {
    Call call;
    call.request.url = server_.url() + path;
    return call;
  }

  // Request number n gets fault number n. Later requests get none.
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

TEST_CASE_METHOD(ClientTest, "The HTTP client tries again until all is well",
                 "[http][client]") {
  Renew(10);
  Script({Fault::k503, Fault::kResetAtOnce, Fault::kResetInBody,
          Fault::kTruncate, Fault::k408, Fault::k503});
  const auto answer = Await(&*client_, To("/"));
  REQUIRE_THAT(answer, IsOk());
  CHECK(answer->body == "hello");
  CHECK(asked_ == 7);
}

TEST_CASE_METHOD(ClientTest,
                 "The HTTP client gives up after its attempts and says why",
                 "[http][client]") {
  Renew(3);
  Script(std::vector<Fault>(10, Fault::k503));
  const absl::Status status = Await(&*client_, To("/")).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  CHECK(std::string(status.message()) ==
        "the server answers 503 (over loaded), after 3 attempts");
  CHECK(asked_ == 3);
}

TEST_CASE_METHOD(ClientTest,
                 "The HTTP client waits for as long as the server asks",
                 "[http][client]") {
  Renew(3);
  Script({Fault::k429});
  std::future<absl::StatusOr<HttpResponse>> answer = std::async(
      std::launch::async, [this] { return Await(&*client_, To("/")); });
  AwaitRetries(1);
  clock_.Advance(7 * kSecond - 1);
  AwaitRetries(1);
  CHECK(asked_ == 1);
  clock_.Advance(1);
  AwaitRetries(1);
  CHECK_THAT(answer.get(), IsOk());
  CHECK(asked_ == 2);
}

TEST_CASE_METHOD(ClientTest, "The HTTP client tries stalled answers again",
                 "[http][client]") {
  Renew(3);
  Script({Fault::kStall});
  std::promise<absl::StatusOr<HttpResponse>> answer;
  Call call = To("/");
  call.request.timeouts.window_bytes = 100;
  call.done = [&](absl::StatusOr<HttpResponse> result) {
    answer.set_value(std::move(result));
  };
  Client::Id id = 0;
  OnEngine([&] { id = client_->Start(call); });
  bool begun = false;
  while (!begun) OnEngine([&] { begun = client_->HeardNanos(id) >= 0; });
  while (Retries() < 1) clock_.Advance(100 * kSecond);
  CHECK_THAT(answer.get_future().get(), IsOk());
}

TEST_CASE_METHOD(ClientTest,
                 "The judge of an HTTP call may ask for another try",
                 "[http][client]") {
  Renew(5);
  int judged = 0;
  Call call = To("/");
  call.judge = [&judged](const HttpResponse&) {
    return ++judged < 3 ? absl::DataLossError("spoilt") : absl::OkStatus();
  };
  CHECK_THAT(Await(&*client_, call), IsOk());
  CHECK(asked_ == 3);
  call.judge = [](const HttpResponse&) {
    return absl::FailedPreconditionError("other");
  };
  CHECK(Await(&*client_, call).status() ==
        absl::FailedPreconditionError("other"));
  CHECK(asked_ == 4);
}

TEST_CASE_METHOD(ClientTest,
                 "The HTTP client does not try again after errors that last",
                 "[http][client]") {
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
    CHECK_THAT(error, HasCode(code));
    CHECK(asked == 1);
    for (const char c : error.message()) CHECK((c >= ' ' && c < 127));
  }
}

class Badges final : public Authorizer {
 public:
  void Authorize(const HttpRequest&,
                 std::function<void(absl::StatusOr<Headers>)> ready) override {
    ++asked;
    if (!error.ok()) return ready(error);
    ready(Now());
  }
  bool Refused(const Headers& headers, const HttpResponse& answer) override {
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

TEST_CASE_METHOD(
    ClientTest,
    "The HTTP client shows another authorization when one is refused",
    "[http][client]") {
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
  CHECK_THAT(Await(&*client_, call), IsOk());
  CHECK(badges.asked == 2);
  badges.badge = 3;
  CHECK_THAT(Await(&*client_, call),
             HasCode(absl::StatusCode::kPermissionDenied));
  CHECK(badges.asked == 4);
  badges.error = absl::PermissionDeniedError("no badge");
  CHECK(Await(&*client_, call).status() == badges.error);
}

TEST_CASE_METHOD(
    ClientTest,
    "The HTTP client renews an authorization that ends after other failures",
    "[http][client]") {
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
  CHECK_THAT(Await(&*client_, call), IsOk());
  CHECK(asked == 4);
}

TEST_CASE_METHOD(ClientTest, "The HTTP client books what it asks for",
                 "[http][client]") {
  Renew(5);
  Script({Fault::k503, Fault::kTruncate});
  std::vector<int> seen;
  Call call = To("/");
  call.job = 7;
  call.kind = RequestKind::kList;
  call.saw = [&seen](const HttpResponse& answer, int attempt) {
    seen.push_back(10 * answer.status + attempt);
  };
  CHECK_THAT(Await(&*client_, call), IsOk());
  CHECK(seen == std::vector<int>{5031, 2002, 2003});
  const RequestCounts lists = client_->ledger().Of(7).lists;
  CHECK(lists.requests == 3u);
  CHECK(lists.retries == 2u);
  CHECK(lists.failures == 2u);
  CHECK(lists.hedges == 0u);
  CHECK(lists.bytes >= 5u);
}

// The redirects lead to the server itself.
TEST_CASE_METHOD(
    ClientTest,
    "The time to the first byte of an HTTP call is that of all redirects",
    "[http][client]") {
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
  call.follow = [&](const HttpResponse& answer) {
    return absl::StatusOr<std::string>(server.url() + "/" +
                                       *answer.Header("location"));
  };
  const auto answer = Await(&*client_, std::move(call));
  REQUIRE_THAT(answer, IsOk());
  CHECK(answer->first_byte_nanos == 3 * kSecond);
}

TEST_CASE_METHOD(
    ClientTest, "Errors of the HTTP client do not show the query of a redirect",
    "[http][client]") {
  const HttpServer server([](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(302, "Location: https://h/x?delegation=secret\r\n", "");
  });
  Call call;
  call.request.url = server.url();
  CHECK(Await(&*client_, call).status() ==
        absl::InvalidArgumentError(
            "has moved: give the address (https://h/x) that it moved to"));
}

TEST_CASE_METHOD(ClientTest,
                 "Cancelled calls of the HTTP client are not answered",
                 "[http][client]") {
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
  call.done = [&](const absl::StatusOr<HttpResponse>&) { answered = true; };
  Client::Id id = 0;
  engine_->Post([&] { id = client_->Start(call); });
  asked.wait();
  engine_->Post([&] { client_->Cancel(id); });
  hung_up.wait();
  client_.reset();
  CHECK_FALSE(answered);
}

TEST_CASE_METHOD(ClientTest,
                 "A host that fails takes no retries from another host",
                 "[http][client]") {
  RetryOptions options;
  options.first_delay_nanos = options.max_delay_nanos = 0;
  options.retry_burst = 1;
  client_.emplace(engine_.get(), options, 1);
  const HttpServer broken([](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(503, "", "");
  });
  Call call;
  call.request.url = broken.url();
  CHECK(Await(&*client_, call).status() ==
        absl::UnavailableError("the server answers 503, after 2 attempts"));
  CHECK(Await(&*client_, call).status() ==
        absl::UnavailableError("the server answers 503, after 1 attempts"));
  Script({Fault::k503});
  CHECK_THAT(Await(&*client_, To("/")), IsOk());
}

TEST_CASE_METHOD(ClientTest, "The HTTP client forgets hosts without calls",
                 "[http][client]") {
  std::size_t hosts = 0;
  OnEngine([&] {
    for (int i = 0; i < 1000; ++i) {
      Call call;
      call.request.url = "none://host" + std::to_string(i);
      client_->Cancel(client_->Start(std::move(call)));
    }
    hosts = client_->hosts();
  });
  CHECK(hosts <= 64);
}

TEST_CASE_METHOD(
    ClientTest,
    "Destruction of the HTTP client answers the calls that are left",
    "[http][client]") {
  Renew(5);
  Script({Fault::k429});
  std::promise<absl::StatusOr<HttpResponse>> promise;
  Call call = To("/");
  call.done = [&](absl::StatusOr<HttpResponse> answer) {
    promise.set_value(std::move(answer));
  };
  engine_->Post([&] { client_->Start(call); });
  AwaitRetries(1);
  client_.reset();
  CHECK_THAT(promise.get_future().get(), HasCode(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace forebay::storage::http
