// Tests of reads from a web server, some of which hang, stall or fail while the
// others go on. Only the tests advance the time.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/ranged_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::http {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLook = kSecond / 20;  // nanoseconds between two checks
constexpr std::int64_t kStall = schedule::StallThreshold::kUnknownNanos;

class StalledPartsTest {
 protected:
  using Result = std::future<absl::StatusOr<ReadResult>>;

  StalledPartsTest()
      : engine_(*Engine::Create({16, &clock_})),
        root_(*HttpRoot::Create(server_.url())) {
    client_.emplace(engine_.get(), RetryOptions(), 1);
    for (const char* name : {"good", "hung", "busy", "later"}) {
      server_.Put(name, "0123456789");
      versions_[name] = *StatObject(&*client_, *root_, name);
    }
  }
  ~StalledPartsTest() {
    if (!go_.try_wait()) go_.count_down();
    source_.reset();
  }

  void Make(int concurrency, std::size_t most_stalled = 64) {
    RangedSourceOptions options;
    options.concurrency = concurrency;
    options.most_stalled = most_stalled;
    options.hedge.first_delay_nanos = 3600 * kSecond;  // too late for any hedge
    source_.emplace(&*client_, &protocol_, nullptr, options);
  }

  Fault FaultOf(const HttpServer::Asked& asked) {
    if (asked.method == "HEAD") return Fault::kNone;
    const std::string name = asked.target.substr(asked.target.rfind('/') + 1);
    {
      base::MutexLock lock(&mutex_);
      asked_.push_back(name);
    }
    if (name == "hung") go_.wait();
    if (name == "busy" && busy_) return Fault::k503;
    return name == "later" && later_stalls_ ? Fault::kStall : Fault::kNone;
  }

  Result Read(const std::string& name, std::uint64_t job) {
    ReadRequest request;
    request.root = root_;
    request.object = name;
    request.version = versions_.at(name);
    request.length = request.version.size;
    request.purpose.job = job;
    const auto promise =
        std::make_shared<std::promise<absl::StatusOr<ReadResult>>>();
    request.done = [promise](absl::StatusOr<ReadResult> result) {
      promise->set_value(std::move(result));
    };
    source_->Read({&request, 1});
    return promise->get_future();
  }
  static bool IsOver(const Result& result) {
    return result.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }

  void Settle() {
    for (int i = 0; i < 3; ++i) {
      std::promise<void> settled;
      engine_->Post([&settled] { settled.set_value(); });
      settled.get_future().wait();
    }
  }
  void Advance(std::int64_t nanos) {
    clock_.Advance(nanos);
    Settle();
  }
  // Advances the time so far that parts without an answer count as stalled.
  void AwaitStall() {
    Advance(2 * kStall);
    Advance(kLook);
  }
  // Waits until the server has got `count` requests in all.
  void AwaitAsked(std::size_t count) {
    while (Asked().size() < count) std::this_thread::yield();
  }
  std::vector<std::string> Asked() {
    base::MutexLock lock(&mutex_);
    return asked_;
  }
  void AwaitState(std::size_t in_flight, std::size_t stalled) {
    for (;;) {
      const SourceState state = source_->State();
      if (state.in_flight == in_flight && state.stalled == stalled) return;
      std::this_thread::yield();
    }
  }

  base::FakeClock clock_;
  ObjectServer server_;
  const HttpProtocol protocol_;
  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<const HttpRoot> root_;
  std::optional<Client> client_;
  std::map<std::string, ObjectVersion> versions_;
  std::latch go_{1};  // releases hanging answers
  std::atomic<bool> busy_ = true;
  std::atomic<bool> later_stalls_ = false;
  base::Mutex mutex_;
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  FaultChoice::Scope faults_{server_.SetFaults(
      [this](const HttpServer::Asked& asked) { return FaultOf(asked); })};
  std::optional<RangedSource> source_;
};

TEST_CASE_METHOD(StalledPartsTest,
                 "A part of a read that hangs gives its place to another part",
                 "[http][stalled_parts]") {
  Make(/*concurrency=*/1);
  Result hung = Read("hung", 1);
  AwaitAsked(1);
  Result good = Read("good", 2);
  Advance(kStall - kLook);
  Advance(kLook - 1);
  CHECK(Asked().size() == 1);
  for (int i = 0; i < 3; ++i) Advance(kLook);
  CHECK_THAT(good.get(), IsOk());
  CHECK_FALSE(IsOver(hung));
  AwaitState(0, 1);
  go_.count_down();
  CHECK_THAT(hung.get(), IsOk());
  AwaitState(0, 0);
}

TEST_CASE_METHOD(
    StalledPartsTest,
    "A part whose answer stops in the middle gives its place to another part",
    "[http][stalled_parts]") {
  Make(/*concurrency=*/1);
  later_stalls_ = true;
  Result later = Read("later", 1);
  AwaitAsked(1);
  Result good = Read("good", 2);
  while (!IsOver(good)) Advance(kSecond / 10);
  CHECK_THAT(good.get(), IsOk());
  CHECK_FALSE(IsOver(later));
}

TEST_CASE_METHOD(StalledPartsTest,
                 "A part that pauses before its next attempt gives its place "
                 "to another part",
                 "[http][stalled_parts]") {
  Make(/*concurrency=*/1);
  Result busy = Read("busy", 1);
  Result good = Read("good", 2);
  CHECK_THAT(good.get(), IsOk());
  CHECK_FALSE(IsOver(busy));
  AwaitState(0, 1);
  busy_ = false;
  while (!IsOver(busy)) Advance(kSecond / 10);
  CHECK_THAT(busy.get(), IsOk());
}

TEST_CASE_METHOD(StalledPartsTest,
                 "A job with many stalled parts is passed over",
                 "[http][stalled_parts]") {
  Make(/*concurrency=*/2, /*most_stalled=*/3);
  std::vector<Result> hung;
  for (int i = 0; i < 20; ++i) hung.push_back(Read("hung", 1));
  AwaitAsked(2);
  AwaitStall();
  AwaitAsked(4);  // two are stalled, and three may be
  AwaitStall();
  AwaitState(0, 4);
  for (int i = 0; i < 5; ++i) CHECK_THAT(Read("good", 2).get(), IsOk());
  AwaitStall();
  CHECK(Asked().size() == 4 + 5);
  go_.count_down();
  for (Result& one : hung) CHECK_THAT(one.get(), IsOk());
  AwaitState(0, 0);
}

TEST_CASE_METHOD(
    StalledPartsTest,
    "Another attempt at a part waits for a place and goes before other parts",
    "[http][stalled_parts]") {
  Make(/*concurrency=*/1);
  Result busy = Read("busy", 1);
  AwaitState(0, 1);
  Result hung = Read("hung", 1);
  AwaitAsked(2);
  Result good = Read("good", 2);
  busy_ = false;
  Advance(kStall / 2);  // longer than the first pause
  CHECK(Asked().size() == 2);
  CHECK(source_->State().in_flight == 1u);
  go_.count_down();
  CHECK_THAT(good.get(), IsOk());
  CHECK(Asked() == std::vector<std::string>{"busy", "hung", "busy", "good"});
  CHECK_THAT(busy.get(), IsOk());
  CHECK_THAT(hung.get(), IsOk());
}

TEST_CASE_METHOD(StalledPartsTest,
                 "Parts of a read may fail or end whatever their state",
                 "[http][stalled_parts]") {
  Make(/*concurrency=*/1);
  Result busy = Read("busy", 1);
  AwaitState(0, 1);
  Result hung = Read("hung", 1);
  AwaitAsked(2);
  AwaitStall();
  AwaitState(0, 2);
  source_.reset();
  CHECK_THAT(busy.get(), HasCode(absl::StatusCode::kCancelled));
  CHECK_THAT(hung.get(), HasCode(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace forebay::storage::http
