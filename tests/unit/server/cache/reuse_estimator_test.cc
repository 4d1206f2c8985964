#include "server/cache/reuse_estimator.h"

#include <gtest/gtest.h>

namespace forebay::cache {
namespace {

TEST(ReuseEstimatorTest, WhatIsNeverUsedIsHardlyMadeAnyMore) {
  ReuseEstimator yield;
  EXPECT_TRUE(yield.Pays(1, 100, 1));
  for (int i = 0; i < 100; ++i) yield.Left(1, 0);
  int made = 0;
  for (int i = 0; i < 320; ++i) made += yield.Pays(1, 100, 1'000);
  EXPECT_EQ(made, 10);
  EXPECT_TRUE(yield.Pays(2, 100, 1'000));
}

TEST(ReuseEstimatorTest, WhatIsUsedOftenPaysAndSoDoesWhatCostsNothing) {
  ReuseEstimator yield;
  for (int i = 0; i < 100; ++i) yield.Left(1, i % 2 == 0 ? 3 : 2);
  EXPECT_TRUE(yield.Pays(1, 249, 100));
  EXPECT_FALSE(yield.Pays(1, 251, 100));
  EXPECT_TRUE(yield.Pays(1, 0, 1));
  // It learns anew.
  for (int i = 0; i < 2'000; ++i) yield.Left(1, 0);
  EXPECT_FALSE(yield.Pays(1, 100, 100));
}

}  // namespace
}  // namespace forebay::cache
