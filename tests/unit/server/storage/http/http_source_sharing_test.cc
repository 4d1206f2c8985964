// Tests how jobs share reads from a web server.

#include <cstdint>
#include <latch>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/storage/http/client.h"
#include "server/storage/http/ranged_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/storage/http/http_source_fixture.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::http {
namespace {

using Catch::WithinAbs;
using tests::IsOk;

TEST_CASE_METHOD(HttpSourceTest,
                 "The HTTP source asks for no more than may be held",
                 "[http][http_source_sharing]") {
  server_.Put("a", "0123456789");
  const ReadRequest request = HttpRequest("a");
  for (const auto& [options, expected] :
       std::vector<std::pair<RangedSourceOptions, std::size_t>>{
           {{.concurrency = 5}, 5},
           {{.concurrency = 50, .max_bytes = 25}, 3},
           {{.concurrency = 50, .max_bytes = 1}, 1}}) {
    source_.emplace(&*client_, &protocol_, nullptr, options);
    std::latch now(1);
    const auto faults = server_.SetFaults([&now](const HttpServer::Asked&) {
      now.wait();
      return Fault::kNone;
    });
    tests::ThreadChecks checks;
    std::latch done(60);
    std::vector<ReadRequest> requests(60, request);
    for (ReadRequest& one : requests)
      one.done = [&](const absl::StatusOr<ReadResult>& result) {
        checks.CheckOk(result.status());
        done.count_down();
      };
    source_->Read(absl::MakeSpan(requests));
    Settle();
    const SourceState state = source_->State();
    CHECK(state.in_flight <= expected);
    CHECK(state.in_flight + state.waiting + state.stalled == 60u);
    now.count_down();
    done.wait();
    Settle();
    CHECK(source_->State().in_flight == 0u);
  }
}

TEST_CASE_METHOD(HttpSourceTest, "The HTTP source books each job's requests",
                 "[http][http_source_sharing]") {
  server_.Put("a", RandomText(2'500, 1));
  ReadRequest request = HttpRequest("a");
  request.purpose.job = 9;
  CHECK_THAT(Read(request), IsOk());
  const RequestCounts gets = client_->ledger().Of(9).gets;
  CHECK(gets.requests == 3u);
  CHECK(gets.bytes == 2'500u);
  client_->ledger().Forget(9);
  CHECK(client_->ledger().Of(9).gets.requests == 0u);
}

TEST_CASE_METHOD(HttpSourceTest,
                 "An HTTP read that others want takes the most urgent place",
                 "[http][http_source_sharing]") {
  server_.Put("a", "0123456789");
  const ReadRequest request = HttpRequest("a");
  source_.emplace(&*client_, &protocol_, nullptr, RangedSourceOptions{1, 1000});
  std::latch now(1);
  const auto faults = server_.SetFaults([&now](const HttpServer::Asked&) {
    now.wait();
    return Fault::kNone;
  });
  std::vector<int> order;
  std::latch done(10);
  std::vector<ReadRequest> requests(10, request);
  for (int i = 0; i < 10; ++i) {
    requests[i].purpose = {.job = 1, .urgency = 5};
    requests[i].ticket = 100 + i;
    requests[i].done = [&, i](const absl::StatusOr<ReadResult>&) {
      order.push_back(i);
      done.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  source_->Share(108, {.job = 1, .urgency = 0});
  source_->Share(107, {.job = 1, .urgency = 3});
  // The read with this ticket is already in flight.
  source_->Share(100, {.job = 1, .urgency = 0});
  source_->Share(7, {.job = 1, .urgency = 0});  // no read has this ticket
  Settle();
  now.count_down();
  done.wait();
  CHECK(order == std::vector<int>{0, 8, 7, 1, 2, 3, 4, 5, 6, 9});
}

TEST_CASE_METHOD(HttpSourceTest,
                 "A job that is over its cap waits for its HTTP reads",
                 "[http][http_source_sharing]") {
  server_.Put("a", "0123456789");
  const ReadRequest request = HttpRequest("a");
  source_->SetCap(1, 1e-3);  // bytes per second
  tests::ThreadChecks checks;
  std::latch first(1);
  std::latch others(2);
  std::vector<ReadRequest> requests(3, request);
  for (ReadRequest& one : requests) {
    one.purpose.job = 1;
    one.done = [&](const absl::StatusOr<ReadResult>& result) {
      checks.CheckOk(result.status());
      first.try_wait() ? others.count_down() : first.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  first.wait();
  CHECK_THAT(Read(request), IsOk());  // a read for another job
  Settle();
  CHECK(source_->State().waiting == 2u);
  source_->SetCap(1, std::numeric_limits<double>::infinity());
  others.wait();
}

TEST_CASE_METHOD(HttpSourceTest,
                 "A job that is forgotten no longer waits for its cap",
                 "[http][http_source_sharing]") {
  server_.Put("a", "0123456789");
  const ReadRequest request = HttpRequest("a");
  source_->SetCap(1, 1e-3);  // bytes per second
  tests::ThreadChecks checks;
  std::latch first(1);
  std::latch others(2);
  std::vector<ReadRequest> requests(3, request);
  for (ReadRequest& one : requests) {
    one.purpose.job = 1;
    one.done = [&](const absl::StatusOr<ReadResult>& result) {
      checks.CheckOk(result.status());
      first.try_wait() ? others.count_down() : first.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  first.wait();
  Settle();
  CHECK(source_->State().waiting == 2u);
  source_->Forget(1);
  Settle();
  CHECK(source_->State().waiting == 0u);
  // Reads that still wait here would outlive the latches.
  source_->SetCap(1, std::numeric_limits<double>::infinity());
  others.wait();
}

TEST_CASE_METHOD(HttpSourceTest, "Jobs share the HTTP source by weight",
                 "[http][http_source_sharing]") {
  server_.Put("a", "0123456789");
  const ReadRequest request = HttpRequest("a");
  source_.emplace(&*client_, &protocol_, nullptr, RangedSourceOptions{1, 1000});
  source_->SetWeight(2, 3);
  std::vector<int> order;
  std::latch done(80);
  std::vector<ReadRequest> requests(80, request);
  for (int i = 0; i < 80; ++i) {
    requests[i].purpose.job = 1 + i % 2;
    requests[i].done = [&, i](const absl::StatusOr<ReadResult>&) {
      order.push_back(1 + i % 2);
      done.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  done.wait();
  int second = 0;
  for (int i = 0; i < 40; ++i) second += order[i] == 2;
  CHECK_THAT(second, WithinAbs(30, 2));
}

// Meanwhile no more bytes come than the cap allows, however slow this machine
// is.
TEST_CASE_METHOD(HttpSourceTest,
                 "A job's cap holds and its HTTP reads go on by themselves",
                 "[http][http_source_sharing]") {
  server_.Put("a", std::string(1000, 'a'));
  const ReadRequest request = HttpRequest("a");
  constexpr int kReads = 30;
  constexpr double kCap = 100'000;  // bytes per second
  source_->SetCap(1, kCap);
  const std::int64_t begin = base::Clock::Monotonic()->NowNanos();
  tests::ThreadChecks checks;
  std::latch done(kReads);
  std::vector<ReadRequest> requests(kReads, request);
  for (ReadRequest& one : requests) {
    one.purpose.job = 1;
    one.done = [&](const absl::StatusOr<ReadResult>& result) {
      checks.CheckOk(result.status());
      done.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  done.wait();
  const double seconds =
      1e-9 * static_cast<double>(base::Clock::Monotonic()->NowNanos() - begin);
  CHECK(kReads * 1000 <= kCap * (seconds + 0.1) * 1.001);
}

TEST_CASE_METHOD(
    HttpSourceTest,
    "An HTTP read that another job wants sooner takes that job's place",
    "[http][http_source_sharing]") {
  server_.Put("a", "0123456789");
  constexpr int kReads = 300;
  RangedSourceOptions options;
  options.concurrency = 1;
  options.part_bytes = 4;
  source_.emplace(&*client_, &protocol_, nullptr, options);
  tests::ThreadChecks checks;
  std::latch done(kReads);
  std::vector<int> order;
  std::vector<ReadRequest> requests(kReads, HttpRequest("a"));
  for (int i = 0; i < kReads; ++i) {
    requests[i].purpose = {.job = 1};
    requests[i].done = [&, i](const absl::StatusOr<ReadResult>& result) {
      checks.CheckOk(result.status());
      order.push_back(i);
      done.count_down();
    };
  }
  requests[0].purpose.urgency = 9;
  requests[0].ticket = 7;
  source_->Read(absl::MakeSpan(requests));
  source_->Share(7, {.job = 2});
  source_->Share(8, {.job = 2});  // no read has this ticket
  done.wait();
  UNSCOPED_INFO("it would have come last");
  CHECK(order.back() != 0);
}

}  // namespace
}  // namespace forebay::storage::http
