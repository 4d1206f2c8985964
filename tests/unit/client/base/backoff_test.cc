#include "client/base/backoff.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace forebay::client {
namespace {

TEST(BackoffTest, PausesGrowToTheLongestAndBeginAnew) {
  Backoff backoff(/*seed=*/1);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t step = Backoff::kFirstNanos, i = 0; i < 20; ++i) {
      const std::int64_t pause = backoff.Next();
      EXPECT_GE(pause, step / 2);
      EXPECT_LE(pause, step);
      step = std::min(2 * step, Backoff::kLastNanos);
    }
    backoff.Reset();
  }
}

TEST(BackoffTest, ClientsComeBackAtDifferentTimes) {
  std::set<std::int64_t> firsts;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    firsts.insert(Backoff(seed).Next());
  EXPECT_GT(firsts.size(), 90);
  EXPECT_EQ(Backoff(7).Next(), Backoff(7).Next());
}

}  // namespace
}  // namespace forebay::client
