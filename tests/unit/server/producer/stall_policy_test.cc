#include "server/producer/stall_policy.h"

#include <gtest/gtest.h>

namespace forebay::producer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class StallPolicyTest : public testing::Test {
 protected:
  BusyProducer producer_ = {.asked_at_nanos = 100 * kSecond};
  StallContext context_ = {.now_nanos = 103 * kSecond,
                           .is_awaited = true,
                           .host_answered_at_nanos = 103 * kSecond,
                           .producer_answered_at_nanos = 103 * kSecond};
};

TEST_F(StallPolicyTest, AStoppedOneLosesItsTask) {
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
  producer_.stopped_since_nanos = 102 * kSecond;
  EXPECT_EQ(FindStall(producer_, context_), Stall::kStopped);
}

TEST_F(StallPolicyTest, AShortStopIsNothing) {
  producer_.stopped_since_nanos = 102 * kSecond + 1;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
}

TEST_F(StallPolicyTest, APausedJobStaysAsItIs) {
  producer_.stopped_since_nanos = 102 * kSecond;
  context_.now_nanos = 10'000 * kSecond;
  context_.host_answered_at_nanos = 101 * kSecond;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt)
      << "its host does not answer either";
}

TEST_F(StallPolicyTest, NothingIsDoneForNobody) {
  producer_.stopped_since_nanos = 102 * kSecond;
  context_.is_awaited = false;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
}

TEST_F(StallPolicyTest, ASleeperLosesItsTaskOnce) {
  context_.now_nanos = 160 * kSecond - 1;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
  ++context_.now_nanos;
  EXPECT_EQ(FindStall(producer_, context_), Stall::kAsleep);
  producer_.has_retried = true;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
}

TEST_F(StallPolicyTest, WhoComputesDoesNotSleep) {
  context_.now_nanos = 200 * kSecond;
  producer_.still_since_nanos = 141 * kSecond;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
  producer_.still_since_nanos = 140 * kSecond;
  EXPECT_EQ(FindStall(producer_, context_), Stall::kAsleep);
}

TEST_F(StallPolicyTest, SlowTasksMaySleepForLong) {
  context_.now_nanos = 200 * kSecond;
  context_.task_nanos = 6 * kSecond;
  EXPECT_EQ(FindStall(producer_, context_), std::nullopt);
  context_.task_nanos = 5 * kSecond;
  EXPECT_EQ(FindStall(producer_, context_), Stall::kAsleep);
}

TEST_F(StallPolicyTest, ASleeperIsWaitedForWhileNobodyElseWorks) {
  context_.now_nanos = 200 * kSecond;
  StallContext others = context_;
  others.producer_answered_at_nanos = INT64_MIN;
  EXPECT_EQ(FindStall(producer_, others), std::nullopt);
  others = context_;
  others.host_answered_at_nanos = INT64_MIN;
  EXPECT_EQ(FindStall(producer_, others), std::nullopt);
}

}  // namespace
}  // namespace forebay::producer
