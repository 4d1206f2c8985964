#include "server/cache/disk/circuit_breaker.h"

#include <gtest/gtest.h>

namespace forebay::cache::disk {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(CircuitBreakerTest, LastsTwiceAsLongEachTime) {
  CircuitBreaker breaker(0);
  std::int64_t now = 0;
  EXPECT_FALSE(breaker.IsOpen(now));
  for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    EXPECT_TRUE(breaker.RecordFailure(now));
    EXPECT_FALSE(
        breaker.RecordFailure(now));  // began before the breaker opened
    EXPECT_EQ(breaker.SecondsLeft(now), seconds);
    EXPECT_TRUE(breaker.IsOpen(now + seconds * kSecond - 1));
    EXPECT_EQ(breaker.SecondsLeft(now + seconds * kSecond - 1), 1);
    now += seconds * kSecond;
    EXPECT_FALSE(breaker.IsOpen(now));
    EXPECT_EQ(breaker.SecondsLeft(now), 0);
  }
  breaker.RecordSuccess();
  EXPECT_TRUE(breaker.RecordFailure(now));
  EXPECT_FALSE(breaker.IsOpen(now + kSecond));
}

TEST(CircuitBreakerTest, BearsAFewFailures) {
  CircuitBreaker breaker(2);
  EXPECT_FALSE(breaker.RecordFailure(0));
  EXPECT_FALSE(breaker.RecordFailure(0));
  breaker.RecordSuccess();
  EXPECT_FALSE(breaker.RecordFailure(0));
  EXPECT_FALSE(breaker.RecordFailure(0));
  EXPECT_TRUE(breaker.RecordFailure(0));
  EXPECT_TRUE(breaker.IsOpen(kSecond - 1));
  EXPECT_FALSE(breaker.IsOpen(kSecond));
}

}  // namespace
}  // namespace forebay::cache::disk
