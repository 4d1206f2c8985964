#include "server/cache/reuse_estimator.h"

#include <gtest/gtest.h>

namespace forebay::cache {
namespace {

TEST(ReuseEstimatorTest, WhatIsNeverUsedIsHardlyMadeAnyMore) {
  ReuseEstimator reuse;
  EXPECT_TRUE(reuse.IsWorthMaking(1, 100, 1));
  for (int i = 0; i < 100; ++i) reuse.RecordEviction(1, 0);
  int made = 0;
  for (int i = 0; i < 320; ++i) made += reuse.IsWorthMaking(1, 100, 1'000);
  EXPECT_EQ(made, 10);
  EXPECT_TRUE(reuse.IsWorthMaking(2, 100, 1'000));
}

TEST(ReuseEstimatorTest, WhatIsUsedOftenPaysAndSoDoesWhatCostsNothing) {
  ReuseEstimator reuse;
  for (int i = 0; i < 100; ++i) reuse.RecordEviction(1, i % 2 == 0 ? 3 : 2);
  EXPECT_TRUE(reuse.IsWorthMaking(1, 249, 100));
  EXPECT_FALSE(reuse.IsWorthMaking(1, 251, 100));
  EXPECT_TRUE(reuse.IsWorthMaking(1, 0, 1));
  // It learns again.
  for (int i = 0; i < 2'000; ++i) reuse.RecordEviction(1, 0);
  EXPECT_FALSE(reuse.IsWorthMaking(1, 100, 100));
}

}  // namespace
}  // namespace forebay::cache
