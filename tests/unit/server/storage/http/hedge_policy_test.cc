#include "server/storage/http/hedge_policy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kMillis = 1'000'000;

TEST(HedgePolicyTest, WaitsLongUntilItKnowsWhatIsUsual) {
  HedgePolicy policy;
  EXPECT_EQ(policy.DelayNanos(), 1000 * kMillis);
  for (int i = 0; i < 19; ++i) policy.OnFirstByte(30 * kMillis);
  EXPECT_EQ(policy.DelayNanos(), 1000 * kMillis);
  policy.OnFirstByte(30 * kMillis);
  EXPECT_GE(policy.DelayNanos(), 60 * kMillis);
  EXPECT_LE(policy.DelayNanos(), 70 * kMillis);
  EXPECT_GE(policy.UsualNanos(), 30 * kMillis);
  EXPECT_LE(policy.UsualNanos(), 34 * kMillis);
}

TEST(HedgePolicyTest, AFewStallsDoNotChangeWhatIsUsual) {
  HedgePolicy policy;
  for (int i = 0; i < 5000; ++i)
    policy.OnFirstByte(i % 50 == 0 ? 5000 * kMillis : 30 * kMillis);
  EXPECT_LE(policy.DelayNanos(), 70 * kMillis);
}

TEST(HedgePolicyTest, FollowsAServerThatGetsSlower) {
  HedgePolicy policy;
  for (int i = 0; i < 2000; ++i) policy.OnFirstByte(30 * kMillis);
  for (int i = 0; i < 1000; ++i) policy.OnFirstByte(300 * kMillis);
  EXPECT_GE(policy.DelayNanos(), 600 * kMillis);
}

TEST(HedgePolicyTest, NeverWaitsForever) {
  HedgePolicy policy;
  for (int i = 0; i < 100; ++i) policy.OnFirstByte(INT64_MAX);
  EXPECT_GT(policy.DelayNanos(), 0);
  EXPECT_LE(policy.DelayNanos(), 3'600'000 * kMillis);
}

TEST(HedgePolicyTest, AsksASecondTimeForAShareOfAllAlone) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    HedgePolicy policy({.share = 0.05, .burst = 8});
    int hedges = 0;
    for (int requests = 1; requests <= 2000; ++requests) {
      policy.OnRequest();
      for (unsigned wanted = random() % 3; wanted > 0; --wanted)
        hedges += policy.TryHedge(0) ? 1 : 0;
      EXPECT_LE(hedges, 8 + requests * 0.05 + 1e-6);
    }
    EXPECT_GE(hedges, 100);
  }
}

TEST(HedgePolicyTest, KeepsQuietWhileAServerHasTooMuchToDo) {
  HedgePolicy policy({.quiet_nanos = 1000 * kMillis});
  EXPECT_TRUE(policy.TryHedge(0));
  policy.OnBusy(500 * kMillis);
  EXPECT_FALSE(policy.TryHedge(500 * kMillis));
  EXPECT_FALSE(policy.TryHedge(1500 * kMillis - 1));
  EXPECT_TRUE(policy.TryHedge(1500 * kMillis));
}

}  // namespace
}  // namespace forebay::storage::http
