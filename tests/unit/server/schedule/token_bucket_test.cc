#include "server/schedule/token_bucket.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace forebay::schedule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(TokenBucketTest, LetsABurstThroughAndThenTheRate) {
  TokenBucket bucket(100, 50, 0);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(bucket.TryTake(1, 0));
  EXPECT_FALSE(bucket.TryTake(1, 0));
  EXPECT_EQ(bucket.ReadyAt(1, 0), kSecond / 100);
  EXPECT_FALSE(bucket.TryTake(1, kSecond / 100 - 1000));
  EXPECT_TRUE(bucket.TryTake(1, kSecond / 100));
}

TEST(TokenBucketTest, SavesUpNoMoreThanABurst) {
  TokenBucket bucket(100, 50, 0);
  EXPECT_TRUE(bucket.TryTake(50, 1000 * kSecond));
  EXPECT_FALSE(bucket.TryTake(1, 1000 * kSecond));
}

TEST(TokenBucketTest, WhatIsLargerThanTheBucketIsPaidOffAfterwards) {
  TokenBucket bucket(100, 50, 0);
  EXPECT_TRUE(bucket.TryTake(250, 0));
  EXPECT_NEAR(bucket.ReadyAt(250, 0), 2.5 * kSecond, 1000);
  EXPECT_FALSE(bucket.TryTake(1, 2 * kSecond - kSecond / 100));
  EXPECT_TRUE(bucket.TryTake(1, 2 * kSecond + kSecond / 100));
}

TEST(TokenBucketTest, HugeWaitsDoNotOverflow) {
  TokenBucket bucket(1e-9, 1e9, 0);
  EXPECT_TRUE(bucket.TryTake(1e9, 0));
  EXPECT_EQ(bucket.ReadyAt(1e9, 0), INT64_MAX);
}

TEST(TokenBucketTest, WhoComesBackWhenReadyMayPass) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  TokenBucket bucket(12'345.678, 1000, 0);
  std::int64_t now = 0;
  double taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double amount = 1 + random() % 3000;
    const std::int64_t ready = bucket.ReadyAt(amount, now);
    ASSERT_GE(ready, now);
    now = ready;
    ASSERT_TRUE(bucket.TryTake(amount, now));
    taken += amount;
  }
  EXPECT_NEAR(taken / (now * 1e-9), 12'345.678, 1);
}

TEST(TokenBucketTest, ReservationsQueueUp) {
  TokenBucket bucket(10, 2, 0);
  EXPECT_EQ(bucket.Reserve(1, 0), 0);
  EXPECT_EQ(bucket.Reserve(1, 0), 0);
  EXPECT_NEAR(bucket.Reserve(1, 0), 100'000'000, 2);
  EXPECT_NEAR(bucket.Reserve(1, 0), 200'000'000, 2);
  EXPECT_FALSE(bucket.TryTake(1, 200'000'000));
  EXPECT_NEAR(bucket.ReadyAt(1, 200'000'000), 300'000'000, 2);
}

}  // namespace
}  // namespace forebay::schedule
