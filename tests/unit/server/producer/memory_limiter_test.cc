#include "server/producer/memory_limiter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/base/clock.h"
#include "server/producer/memory_watch.h"
#include "tests/unit/server/producer/fake_process.h"

namespace forebay::producer {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kLimit = 1000 * kMib;
constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMilli;

class MemoryLimiterTest : public testing::Test {
 protected:
  struct Known {
    std::shared_ptr<FakeState> state;
    std::shared_ptr<const LimitedProducer> producer;
  };

  // Adds a process that has just been forked by one with so much memory.
  Known Fork(std::uint64_t shared = 0, std::int64_t measuring_nanos = 0) {
    auto state = std::make_shared<FakeState>();
    state->shared = shared;
    return {state, limiter_.Add(group_, std::make_unique<FakeProcess>(
                                            state, &clock_, measuring_nanos))};
  }

  base::FakeClock clock_;
  MemoryLimiter limiter_{kLimit, &clock_};
  std::shared_ptr<MemoryGroup> group_ = std::make_shared<MemoryGroup>("a");
};

TEST_F(MemoryLimiterTest, LooksAtNothingWithoutProducers) {
  EXPECT_EQ(limiter_.Check(), std::nullopt);
  EXPECT_EQ(limiter_.snapshot().limit, kLimit);
  const Known one = Fork();
  EXPECT_NE(limiter_.Check(), std::nullopt);
  one.state->Leave();
  EXPECT_EQ(limiter_.Check(), std::nullopt);
}

TEST_F(MemoryLimiterTest, EndsTheLargestWhereAllTogetherHaveTooMuch) {
  const Known small = Fork();
  const Known large = Fork();
  small.state->Set(450 * kMib);
  large.state->Set(550 * kMib);
  limiter_.Check();
  EXPECT_EQ(limiter_.snapshot().used, kLimit);
  EXPECT_EQ(limiter_.snapshot().ended, 0);
  small.state->Set(451 * kMib);
  limiter_.Check();
  EXPECT_TRUE(large.state->is_killed());
  EXPECT_FALSE(small.state->is_killed());
  const auto overrun = large.producer->overrun();
  ASSERT_TRUE(overrun.has_value());
  EXPECT_EQ(overrun->bytes, 550 * kMib);
  EXPECT_EQ(overrun->together, 1001 * kMib);
  EXPECT_EQ(overrun->limit, kLimit);
  EXPECT_FALSE(overrun->alone());
  EXPECT_FALSE(small.producer->overrun().has_value());
  EXPECT_EQ(limiter_.snapshot().ended, 1);
}

TEST_F(MemoryLimiterTest, WaitsUntilTheOneThatItEndedIsGone) {
  const Known small = Fork();
  const Known large = Fork();
  small.state->Set(600 * kMib);
  large.state->Set(700 * kMib);
  limiter_.Check();
  EXPECT_TRUE(large.state->is_killed());
  EXPECT_EQ(limiter_.Check(), 10 * kMilli) << "it looks often";
  EXPECT_FALSE(small.state->is_killed());
  EXPECT_EQ(limiter_.snapshot().used, 1300 * kMib);
  large.state->Leave();
  limiter_.Check();
  EXPECT_EQ(limiter_.snapshot().used, 600 * kMib);
  EXPECT_EQ(limiter_.snapshot().producers, 1);
}

TEST_F(MemoryLimiterTest, SaysWhetherOneAloneHadTooMuch) {
  const Known one = Fork();
  one.state->Set(kLimit + 1);
  limiter_.Check();
  ASSERT_TRUE(one.producer->overrun().has_value());
  EXPECT_TRUE(one.producer->overrun()->alone());
}

TEST_F(MemoryLimiterTest, CountsNothingThatProducersShareWithTheTrainer) {
  std::vector<Known> all;
  for (int i = 0; i < 8; ++i) all.push_back(Fork(3 * kLimit));
  for (int i = 0; i < 100; ++i) {
    limiter_.Check();
    clock_.Advance(kSecond);
  }
  EXPECT_EQ(limiter_.snapshot().used, 0);
  all[0].state->Set(100 * kMib);
  limiter_.Check();
  EXPECT_EQ(limiter_.snapshot().used, 100 * kMib);
  EXPECT_EQ(limiter_.snapshot().ended, 0);
}

TEST_F(MemoryLimiterTest, SeesWhatIsNoLongerShared) {
  const Known one = Fork(3 * kLimit);
  one.state->CopyOnWrite(2 * kLimit);
  limiter_.Check();
  EXPECT_FALSE(one.state->is_killed()) << "it was forked just now";
  clock_.Advance(kSecond);
  limiter_.Check();
  EXPECT_TRUE(one.state->is_killed());
}

TEST_F(MemoryLimiterTest, ReadsNoPageTablesWhileThereIsLittle) {
  const Known one = Fork(400 * kMib);
  const Known other = Fork(400 * kMib);
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(kSecond);
    limiter_.Check();
  }
  EXPECT_EQ(one.state->measured + other.state->measured, 0);
}

TEST_F(MemoryLimiterTest, ReadsPageTablesForAHundredthOfTheTime) {
  const Known one = Fork(3 * kLimit, /*measuring_nanos=*/100 * kMilli);
  const std::int64_t began = clock_.NowNanos();
  while (clock_.NowNanos() - began < 100 * kSecond) {
    limiter_.Check();
    clock_.Advance(10 * kMilli);
  }
  EXPECT_GE(one.state->measured, 8);
  EXPECT_LE(one.state->measured, 10);
  const Known quick = Fork(4 * kLimit);
  for (int i = 0; i < 1000; ++i) {
    limiter_.Check();
    clock_.Advance(10 * kMilli);
  }
  EXPECT_GE(quick.state->measured, 8);
  EXPECT_LE(quick.state->measured, 10) << "at most once a second";
}

TEST_F(MemoryLimiterTest, LooksTheSoonerTheLessIsLeft) {
  const Known one = Fork();
  const auto wait_with = [&](std::uint64_t bytes) {
    one.state->Set(bytes);
    return *limiter_.Check();
  };
  const std::int64_t early = wait_with(0);
  EXPECT_GT(early, 200 * kMilli);
  EXPECT_LE(early, kSecond);
  EXPECT_LT(wait_with(kLimit / 2), early);
  EXPECT_EQ(wait_with(kLimit - kMib), 10 * kMilli);
  const Known other = Fork();
  EXPECT_LT(wait_with(0), early) << "two take it faster";
}

TEST_F(MemoryLimiterTest, FewerAreAtWorkForAWhileWhereOneWasEnded) {
  std::vector<Known> all;
  for (int i = 0; i < 4; ++i) all.push_back(Fork());
  EXPECT_EQ(group_->most(), proto::kMaxProducers);
  for (const Known& one : all) one.state->Set(400 * kMib);
  limiter_.Check();
  EXPECT_EQ(limiter_.snapshot().ended, 2);
  EXPECT_EQ(group_->most(), 2);
  clock_.Advance(9 * kSecond);
  limiter_.Check();
  EXPECT_EQ(group_->most(), 2);
  clock_.Advance(kSecond);
  limiter_.Check();
  EXPECT_EQ(group_->most(), 3);
  limiter_.Check();
  EXPECT_EQ(group_->most(), 3);
}

TEST_F(MemoryLimiterTest, OneIsAlwaysAtWork) {
  const Known one = Fork();
  one.state->Set(2 * kLimit);
  limiter_.Check();
  EXPECT_EQ(group_->most(), 1);
}

TEST_F(MemoryLimiterTest, OtherGroupsKeepTheirs) {
  const auto other = std::make_shared<MemoryGroup>("b");
  const auto state = std::make_shared<FakeState>();
  const auto kept = limiter_.Add(other, std::make_unique<FakeProcess>(state));
  const Known one = Fork();
  one.state->Set(900 * kMib);
  state->Set(200 * kMib);
  limiter_.Check();
  EXPECT_TRUE(one.state->is_killed());
  EXPECT_FALSE(kept->overrun().has_value());
  EXPECT_EQ(other->most(), proto::kMaxProducers);
}

TEST(MemoryWatchTest, LooksByItself) {
  MemoryWatch watch(kLimit);
  const auto group = std::make_shared<MemoryGroup>("a");
  const auto state = std::make_shared<FakeState>();
  const auto producer = watch.Add(group, std::make_unique<FakeProcess>(state));
  state->Set(2 * kLimit);
  state->AwaitKill();
  EXPECT_TRUE(producer->overrun().has_value());
}

TEST(MemoryWatchTest, EndsWithProducersAndWithout) {
  MemoryWatch unused(kLimit);
  MemoryWatch watch(kLimit);
  watch.Add(std::make_shared<MemoryGroup>("a"),
            std::make_unique<FakeProcess>(std::make_shared<FakeState>()));
}

}  // namespace
}  // namespace forebay::producer
