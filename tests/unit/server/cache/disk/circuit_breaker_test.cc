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
    EXPECT_TRUE(breaker.Failed(now));
    EXPECT_FALSE(breaker.Failed(now));  // under way when it began
    EXPECT_TRUE(breaker.IsOpen(now + seconds * kSecond - 1));
    now += seconds * kSecond;
    EXPECT_FALSE(breaker.IsOpen(now));
  }
  breaker.Worked();
  EXPECT_TRUE(breaker.Failed(now));
  EXPECT_FALSE(breaker.IsOpen(now + kSecond));
}

TEST(CircuitBreakerTest, BearsAFewFailures) {
  CircuitBreaker breaker(2);
  EXPECT_FALSE(breaker.Failed(0));
  EXPECT_FALSE(breaker.Failed(0));
  breaker.Worked();
  EXPECT_FALSE(breaker.Failed(0));
  EXPECT_FALSE(breaker.Failed(0));
  EXPECT_TRUE(breaker.Failed(0));
  EXPECT_TRUE(breaker.IsOpen(kSecond - 1));
  EXPECT_FALSE(breaker.IsOpen(kSecond));
}

}  // namespace
}  // namespace forebay::cache::disk
