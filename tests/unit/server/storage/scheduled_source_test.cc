#include "server/storage/scheduled_source.h"

#include <cstdint>
#include <deque>
#include <latch>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/scheduled_source_fixture.h"

namespace forebay::storage {
namespace {

using Catch::WithinAbs;

TEST_CASE_METHOD(
    ScheduledSourceTest,
    "A scheduled source asks for no more reads at once than it may",
    "[storage][scheduled_source]") {
  Make({.reads_at_once = 8});
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(Request(1));
  source_->Read(absl::MakeSpan(requests));
  CHECK(below_.asked() == 8);
  CHECK(below_.calls() == 1);
  CHECK(source_->State().in_flight == 8);
  CHECK(source_->State().waiting == 92);
  for (int i = 0; i < 92; ++i) {
    below_.Answer();
    CHECK(below_.asked() <= 8);
    CHECK(below_.asked() >= 5);
  }
  UNSCOPED_INFO("many at once are cheaper");
  CHECK(below_.calls() < 40);
  below_.AnswerAll();
  CHECK(good_ == 100);
  CHECK(source_->State().in_flight == 0);
}

TEST_CASE_METHOD(
    ScheduledSourceTest,
    "A scheduled source asks for no more bytes at once than it may",
    "[storage][scheduled_source]") {
  Make({.bytes_at_once = 3 * kBytes});
  for (int i = 0; i < 10; ++i) Read(1);
  CHECK(below_.asked() == 3);
  below_.AnswerAll();
  CHECK(good_ == 10);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "A scheduled source shares reads among jobs by weight",
                 "[storage][scheduled_source]") {
  Make({.reads_at_once = 1});
  source_->SetWeight(2, 3);
  for (int i = 0; i < 400; ++i)
    for (const int job : {1, 2}) Read(job);
  int counts[3] = {};
  for (int i = 0; i < 400; ++i) ++counts[below_.Answer()];
  CHECK_THAT(counts[2], WithinAbs(300, 4));
  below_.AnswerAll();
}

TEST_CASE_METHOD(
    ScheduledSourceTest,
    "A shared read takes the most urgent place and is paid by both jobs",
    "[storage][scheduled_source]") {
  Make({.reads_at_once = 1});
  Read(1);  // goes to the source below at once
  Read(3, /*urgency=*/9, /*ticket=*/7);
  for (int i = 0; i < 4; ++i) Read(3, /*urgency=*/1);
  for (int i = 0; i < 4; ++i) Read(2, /*urgency=*/1);
  source_->Share(7, {.job = 2, .urgency = 0});
  source_->Share(99, {.job = 2});  // no read has this ticket
  CHECK(below_.Answer() == 1);
  // Job 2's turn comes first. Its turn runs the read that job 3 requested.
  CHECK(below_.Answer() == 3);
  // Each of the two jobs paid half, so they take turns.
  int counts[4] = {};
  for (int i = 0; i < 4; ++i) ++counts[below_.Answer()];
  CHECK(counts[2] == 2);
  CHECK(counts[3] == 2);
  below_.AnswerAll();
  CHECK(good_ == 10);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "A job that shares a read under way pays its part",
                 "[storage][scheduled_source]") {
  Make({.reads_at_once = 1});
  Read(1, 0, /*ticket=*/7);
  for (int i = 0; i < 10; ++i)
    for (const int job : {1, 2}) Read(job);
  source_->Share(7, {.job = 2});
  CHECK(below_.Answer() == 1);
  int counts[3] = {};
  for (int i = 0; i < 10; ++i) ++counts[below_.Answer()];
  UNSCOPED_INFO("job 2 is not served first to make up for it");
  CHECK(counts[1] == 5);
  below_.AnswerAll();
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "A cap on a job's reads lets the other jobs pass",
                 "[storage][scheduled_source]") {
  Make({.reads_at_once = 1, .clock = &clock_});
  source_->SetCap(1, 10.0 * kBytes);  // a burst of one read
  for (int i = 0; i < 3; ++i)
    for (const int job : {1, 2}) Read(job);
  int counts[3] = {};
  for (int i = 0; i < 4; ++i) ++counts[below_.Answer()];
  CHECK(counts[1] == 1);
  CHECK(counts[2] == 3);
  CHECK(below_.Answer() == 0);
  CHECK(source_->State().waiting == 2);
  clock_.Advance(100'000'001);
  Read(2);  // at any request, the source checks its clock
  CHECK(below_.Answer() == 1);
  CHECK(below_.Answer() == 2);
  CHECK(below_.Answer() == 0);
  source_->SetCap(1, std::numeric_limits<double>::infinity());
  CHECK(below_.Answer() == 1);
  CHECK(good_ == 7);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "A read that a job without a cap pays for too passes any cap",
                 "[storage][scheduled_source]") {
  Make({.reads_at_once = 1, .clock = &clock_});
  source_->SetCap(1, 10.0 * kBytes);  // a burst of one read
  for (int i = 0; i < 5; ++i) {
    ReadRequest request = Request(1);
    request.purpose.payers = std::make_shared<const std::vector<std::uint64_t>>(
        std::vector<std::uint64_t>{1, 2});
    source_->Read({&request, 1});
  }
  below_.AnswerAll();
  CHECK(good_ == 5);
  // Job 1 alone may read its burst and no more.
  Read(1, /*urgency=*/0, /*ticket=*/7);
  Read(1, /*urgency=*/1, /*ticket=*/8);
  below_.AnswerAll();
  CHECK(good_ == 6);
  source_->Share(8, {.job = 2});
  below_.AnswerAll();
  CHECK(good_ == 7);
}

// Only the source's own alarm wakes it. Meanwhile no more bytes come than the
// cap allows, however slow this machine is.
TEST_CASE_METHOD(ScheduledSourceTest,
                 "Reads of a capped job go on by themselves",
                 "[storage][scheduled_source]") {
  ScheduledSource source(&memory_);
  constexpr double kCap = 200'000;  // bytes a second
  constexpr int kReads = 50;
  source.SetCap(1, kCap);
  const std::int64_t begin = base::Clock::Monotonic()->NowNanos();
  std::latch done(kReads);
  std::vector<ReadRequest> requests;
  for (int i = 0; i < kReads; ++i) {
    requests.push_back(Request(1));
    requests.back().done = [&](const absl::StatusOr<ReadResult>&) {
      done.count_down();
    };
  }
  source.Read(absl::MakeSpan(requests));
  done.wait();
  const double seconds =
      1e-9 * static_cast<double>(base::Clock::Monotonic()->NowNanos() - begin);
  CHECK(kReads * kBytes <= kCap * (seconds + 0.1) * 1.001);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "Answers that come at once do not pile up on the stack of a "
                 "scheduled source",
                 "[storage][scheduled_source]") {
  ScheduledSource source(&memory_, {.reads_at_once = 2});
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 100'000; ++i) requests.push_back(Request(i % 3));
  source.Read(absl::MakeSpan(requests));  // recursion would overflow the stack
  CHECK(good_ == 100'000);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "The destruction of a scheduled source cancels what waits "
                 "even behind a cap",
                 "[storage][scheduled_source]") {
  auto source = std::make_unique<ScheduledSource>(
      &below_, ScheduledSourceOptions{.reads_at_once = 4});
  source->SetCap(2, 1);
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(Request(1 + i % 2));
  source->Read(absl::MakeSpan(requests));
  CHECK(below_.asked() == 4);
  std::jthread destroyer([&] { source.reset(); });
  while (bad_ < 16) std::this_thread::yield();
  UNSCOPED_INFO("those below are still under way");
  CHECK(good_ == 0);
  below_.AnswerAll();
  destroyer.join();
  CHECK(good_ == 4);
  CHECK(bad_ == 16);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "A scheduled source measures what requests cost",
                 "[storage][scheduled_source]") {
  base::FakeClock clock;
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  MemorySource memory;
  std::vector<ObjectVersion> versions;
  for (const std::size_t bytes : {2'000, 60'000, 250'000})
    versions.push_back(
        memory.Put(std::to_string(versions.size()), std::string(bytes, 'x')));
  PatientSource below(&memory);
  ScheduledSource source(&below, {.reads_at_once = 16, .clock = &clock});
  std::deque<std::size_t> kinds;
  const auto read = [&](std::size_t kind) {
    ReadRequest request;
    request.root = memory.root();
    request.object = std::to_string(kind);
    request.version = versions[kind];
    request.length = versions[kind].size;
    request.purpose.job = 1;
    request.done = [&, bytes = request.length](const auto&) {
      // A request takes as long as 100,000 bytes, besides its bytes.
      clock.Advance(100'000 + static_cast<std::int64_t>(bytes));
    };
    source.Read({&request, 1});
  };
  for (int i = 0; i < 64; ++i) read(random() % 3);
  for (int i = 0; i < 20'000; ++i) {
    // The mix of sizes changes over time.
    read(std::min<std::size_t>(2, random() % (2 + i / 1000 % 4)));
    below.Answer();
  }
  CHECK_THAT(static_cast<double>(source.State().request_cost),
             WithinAbs(100e3, 10e3));
  below.AnswerAll();
}

}  // namespace
}  // namespace forebay::storage
