#include "server/cache/read_cost.h"

#include <gtest/gtest.h>

namespace forebay::cache {
namespace {

TEST(ReadCostTest, IsTheTimeThatTheSourceWasBusy) {
  ReadCost cost;
  EXPECT_NEAR(cost.NanosPerByte(), 1, 1e-9);
  std::int64_t now = 0;
  constexpr std::uint64_t kBytes = 10'000'000;
  for (int i = 0; i < 1'000; ++i) {
    // Two at once, then a rest.
    cost.Began(now);
    cost.Began(now);
    now += 2 * kBytes / 10;
    cost.Ended(now, kBytes);
    cost.Ended(now, kBytes);
    now += 1'000'000'000;
  }
  EXPECT_NEAR(cost.NanosPerByte(), 0.1, 0.003);
  // Readers that leave it time make it no slower, for a while.
  for (int i = 0; i < 10; ++i) {
    cost.Began(now);
    now += 10 * kBytes;
    cost.Ended(now, kBytes);
  }
  EXPECT_LT(cost.NanosPerByte(), 0.15);
  for (int i = 0; i < 1'000; ++i) {
    cost.Began(now);
    now += 10 * kBytes;
    cost.Ended(now, kBytes);
  }
  EXPECT_GT(cost.NanosPerByte(), 9);
}

}  // namespace
}  // namespace forebay::cache
