#include "server/storage/scheduled_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "tests/conformance/storage/memory_source.h"

namespace forebay::storage {
namespace {

// A source below that answers when the test says so. Thread-safe.
class PatientSource final : public ByteSource {
 public:
  explicit PatientSource(ByteSource* inner) : inner_(inner) {}

  void Read(absl::Span<ReadRequest> requests) override {
    base::MutexLock lock(&mutex_);
    ++calls_;
    for (ReadRequest& request : requests) asked_.push_back(std::move(request));
  }

  std::size_t asked() const {
    base::MutexLock lock(&mutex_);
    return asked_.size();
  }
  int calls() const {
    base::MutexLock lock(&mutex_);
    return calls_;
  }
  // Answers the oldest request, and returns its job; 0 if there is none.
  std::uint64_t Answer() {
    std::optional<ReadRequest> first;
    {
      base::MutexLock lock(&mutex_);
      if (asked_.empty()) return 0;
      first = std::move(asked_.front());
      asked_.pop_front();
    }
    const std::uint64_t job = first->purpose.job;
    inner_->Read({&*first, 1});
    return job;
  }
  void AnswerAll() {
    while (Answer() != 0) {
    }
  }

 private:
  ByteSource* const inner_;
  mutable base::Mutex mutex_;
  std::deque<ReadRequest> asked_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<std::uint64_t, double>> weights_
      ABSL_GUARDED_BY(mutex_);
};

class ScheduledSourceTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 1000;

  ScheduledSourceTest()
      : version_(memory_.Put("object", std::string(kBytes, 'x'))) {}

  void Make(const ScheduledSourceOptions& options) {
    source_.emplace(&below_, options);
  }

  ReadRequest Request(std::uint64_t job, std::uint64_t urgency = 0,
                      std::uint64_t ticket = 0) {
    ReadRequest request;
    request.root = memory_.root();
    request.object = "object";
    request.version = version_;
    request.length = kBytes;
    request.purpose = {.job = job, .urgency = urgency};
    request.ticket = ticket;
    request.done = [this](const absl::StatusOr<ReadResult>& result) {
      ++(result.ok() ? good_ : bad_);
    };
    return request;
  }
  void Read(std::uint64_t job, std::uint64_t urgency = 0,
            std::uint64_t ticket = 0) {
    ReadRequest request = Request(job, urgency, ticket);
    source_->Read({&request, 1});
  }

  base::FakeClock clock_;
  MemorySource memory_;
  const ObjectVersion version_;
  PatientSource below_{&memory_};
  std::atomic<int> good_ = 0;
  std::atomic<int> bad_ = 0;
  std::optional<ScheduledSource> source_;
};

TEST_F(ScheduledSourceTest, AsksForNoMoreAtOnceThanItMay) {
  Make({.reads_at_once = 8});
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(Request(1));
  source_->Read(absl::MakeSpan(requests));
  EXPECT_EQ(below_.asked(), 8);
  EXPECT_EQ(below_.calls(), 1);
  EXPECT_EQ(source_->State().in_flight, 8);
  EXPECT_EQ(source_->State().waiting, 92);
  for (int i = 0; i < 92; ++i) {
    below_.Answer();
    EXPECT_LE(below_.asked(), 8);
    EXPECT_GE(below_.asked(), 5);
  }
  EXPECT_LT(below_.calls(), 40) << "many at once are cheaper";
  below_.AnswerAll();
  EXPECT_EQ(good_, 100);
  EXPECT_EQ(source_->State().in_flight, 0);
}

TEST_F(ScheduledSourceTest, AsksForNoMoreBytesAtOnceThanItMay) {
  Make({.bytes_at_once = 3 * kBytes});
  for (int i = 0; i < 10; ++i) Read(1);
  EXPECT_EQ(below_.asked(), 3);
  below_.AnswerAll();
  EXPECT_EQ(good_, 10);
}

TEST_F(ScheduledSourceTest, SharesByWeight) {
  Make({.reads_at_once = 1});
  source_->SetWeight(2, 3);
  for (int i = 0; i < 400; ++i)
    for (const int job : {1, 2}) Read(job);
  int counts[3] = {};
  for (int i = 0; i < 400; ++i) ++counts[below_.Answer()];
  EXPECT_NEAR(counts[2], 300, 4);
  below_.AnswerAll();
}

TEST_F(ScheduledSourceTest, ASharedReadTakesTheMostUrgentPlaceAndIsPaidByBoth) {
  Make({.reads_at_once = 1});
  Read(1);  // goes below at once
  Read(3, /*urgency=*/9, /*ticket=*/7);
  for (int i = 0; i < 4; ++i) Read(3, /*urgency=*/1);
  for (int i = 0; i < 4; ++i) Read(2, /*urgency=*/1);
  source_->Share(7, {.job = 2, .urgency = 0});
  source_->Share(99, {.job = 2});  // nobody knows it
  EXPECT_EQ(below_.Answer(), 1);
  // Job 2's turn comes first, with the read that job 3 asked for.
  EXPECT_EQ(below_.Answer(), 3);
  // Each job paid a half, so they go on in turns.
  int counts[4] = {};
  for (int i = 0; i < 4; ++i) ++counts[below_.Answer()];
  EXPECT_EQ(counts[2], 2);
  EXPECT_EQ(counts[3], 2);
  below_.AnswerAll();
  EXPECT_EQ(good_, 10);
}

TEST_F(ScheduledSourceTest, WhoSharesWhatIsUnderWayPaysItsPart) {
  Make({.reads_at_once = 1});
  Read(1, 0, /*ticket=*/7);
  for (int i = 0; i < 10; ++i)
    for (const int job : {1, 2}) Read(job);
  source_->Share(7, {.job = 2});
  EXPECT_EQ(below_.Answer(), 1);
  int counts[3] = {};
  for (int i = 0; i < 10; ++i) ++counts[below_.Answer()];
  EXPECT_EQ(counts[1], 5) << "job 2 is not served first to make up for it";
  below_.AnswerAll();
}

TEST_F(ScheduledSourceTest, ACapLetsTheOthersPass) {
  Make({.reads_at_once = 1, .clock = &clock_});
  source_->SetCap(1, 10.0 * kBytes);  // a burst of one read
  for (int i = 0; i < 3; ++i)
    for (const int job : {1, 2}) Read(job);
  int counts[3] = {};
  for (int i = 0; i < 4; ++i) ++counts[below_.Answer()];
  EXPECT_EQ(counts[1], 1);
  EXPECT_EQ(counts[2], 3);
  EXPECT_EQ(below_.Answer(), 0);
  EXPECT_EQ(source_->State().waiting, 2);
  clock_.Advance(100'000'001);
  Read(2);  // any request makes it look
  EXPECT_EQ(below_.Answer(), 1);
  EXPECT_EQ(below_.Answer(), 2);
  EXPECT_EQ(below_.Answer(), 0);
  source_->SetCap(1, std::numeric_limits<double>::infinity());
  EXPECT_EQ(below_.Answer(), 1);
  EXPECT_EQ(good_, 7);
}

TEST_F(ScheduledSourceTest, WhatOneWithoutACapPaysForTooPassesAnyCap) {
  Make({.reads_at_once = 1, .clock = &clock_});
  source_->SetCap(1, 10.0 * kBytes);  // a burst of one read
  for (int i = 0; i < 5; ++i) {
    ReadRequest request = Request(1);
    request.purpose.payers = std::make_shared<const std::vector<std::uint64_t>>(
        std::vector<std::uint64_t>{1, 2});
    source_->Read({&request, 1});
  }
  below_.AnswerAll();
  EXPECT_EQ(good_, 5);
  // Alone, job 1 has its burst and no more.
  Read(1, /*urgency=*/0, /*ticket=*/7);
  Read(1, /*urgency=*/1, /*ticket=*/8);
  below_.AnswerAll();
  EXPECT_EQ(good_, 6);
  source_->Share(8, {.job = 2});
  below_.AnswerAll();
  EXPECT_EQ(good_, 7);
}

// Only the source's own alarm wakes it. No more bytes come in that time than
// the cap allows, however slow this machine is.
TEST_F(ScheduledSourceTest, ReadsOfACappedJobGoOnByThemselves) {
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
  EXPECT_LE(kReads * kBytes, kCap * (seconds + 0.1) * 1.001);
}

TEST_F(ScheduledSourceTest, AnswersAtOnceDoNotPileUp) {
  ScheduledSource source(&memory_, {.reads_at_once = 2});
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 100'000; ++i) requests.push_back(Request(i % 3));
  source.Read(absl::MakeSpan(requests));  // would overflow the stack
  EXPECT_EQ(good_, 100'000);
}

TEST_F(ScheduledSourceTest, DestructionCancelsWhatWaitsAlsoBehindACap) {
  auto source = std::make_unique<ScheduledSource>(
      &below_, ScheduledSourceOptions{.reads_at_once = 4});
  source->SetCap(2, 1);
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(Request(1 + i % 2));
  source->Read(absl::MakeSpan(requests));
  EXPECT_EQ(below_.asked(), 4);
  std::thread destroyer([&] { source.reset(); });
  while (bad_ < 16) std::this_thread::yield();
  EXPECT_EQ(good_, 0) << "those below are still under way";
  below_.AnswerAll();
  destroyer.join();
  EXPECT_EQ(good_, 4);
  EXPECT_EQ(bad_, 16);
}

TEST_F(ScheduledSourceTest, MeasuresWhatRequestsCost) {
  base::FakeClock clock;
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
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
      // A request takes as long as 100,000 bytes do.
      clock.Advance(100'000 + static_cast<std::int64_t>(bytes));
    };
    source.Read({&request, 1});
  };
  for (int i = 0; i < 64; ++i) read(random() % 3);
  for (int i = 0; i < 20'000; ++i) {
    // The mix drifts.
    read(std::min<std::size_t>(2, random() % (2 + i / 1000 % 4)));
    below.Answer();
  }
  EXPECT_NEAR(static_cast<double>(source.State().request_cost), 100e3, 10e3);
  below.AnswerAll();
}

// --- Stalled reads.

TEST_F(ScheduledSourceTest, AReadThatIsNotAnsweredGivesItsPlaceToOthers) {
  Make({.reads_at_once = 2, .clock = &clock_});
  for (int i = 0; i < 2; ++i) Read(1);
  Read(2);
  EXPECT_EQ(below_.asked(), 2);
  EXPECT_EQ(source_->State().stalled, 0);
  clock_.Advance(schedule::StallThreshold::kUnknownNanos);
  Read(2);
  EXPECT_EQ(below_.asked(), 4);
  const SourceState state = source_->State();
  EXPECT_EQ(state.stalled, 2);
  EXPECT_EQ(state.in_flight, 2);
  EXPECT_EQ(state.waiting, 0);
  below_.AnswerAll();
  EXPECT_EQ(good_, 4);
  EXPECT_EQ(source_->State().stalled, 0);
  EXPECT_EQ(source_->State().in_flight, 0);
}

TEST_F(ScheduledSourceTest, StalledBytesCountNoLonger) {
  Make({.bytes_at_once = kBytes, .clock = &clock_});
  Read(1);
  Read(2);
  EXPECT_EQ(below_.asked(), 1);
  clock_.Advance(schedule::StallThreshold::kUnknownNanos);
  Read(2);
  EXPECT_EQ(below_.asked(), 2) << "the third waits for the second";
  below_.AnswerAll();
  EXPECT_EQ(good_, 3);
}

TEST_F(ScheduledSourceTest, OthersPassAJobWithTooManyStalledReads) {
  Make({.reads_at_once = 2, .most_stalled = 2, .clock = &clock_});
  for (int i = 0; i < 6; ++i) Read(1);
  clock_.Advance(schedule::StallThreshold::kUnknownNanos);
  for (int i = 0; i < 3; ++i) Read(2);
  // Two of the first job's are stalled: the places are the second's.
  EXPECT_EQ(below_.asked(), 4);
  EXPECT_EQ(source_->State().waiting, 5);
  EXPECT_EQ(below_.Answer(), 1);
  EXPECT_EQ(below_.Answer(), 1);
  EXPECT_EQ(below_.Answer(), 2);
  below_.AnswerAll();
  EXPECT_EQ(good_, 9);
}

TEST_F(ScheduledSourceTest, AStallIsNoticedWhileNothingElseHappens) {
  ScheduledSource source(&below_, {.reads_at_once = 1});
  ReadRequest requests[] = {Request(1), Request(2)};
  source.Read(absl::MakeSpan(requests));
  while (below_.asked() < 2) std::this_thread::yield();
  EXPECT_EQ(source.State().stalled, 1);
  below_.AnswerAll();
  EXPECT_EQ(good_, 2);
}

TEST_F(ScheduledSourceTest, ReadsOfASlowSourceAreNotStalled) {
  Make({.reads_at_once = 1, .clock = &clock_});
  for (int i = 0; i < 32; ++i) {
    Read(1);
    clock_.Advance(900'000'000);
    below_.AnswerAll();
  }
  Read(1);
  Read(1);
  clock_.Advance(8'000'000'000);
  Read(1);
  EXPECT_EQ(below_.asked(), 1);
  below_.AnswerAll();
}

}  // namespace
}  // namespace forebay::storage
