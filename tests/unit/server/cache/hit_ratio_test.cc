// Compares the cache with Belady's algorithm; a short form of
// tests/bench/cache/hit_ratio.

#include <gtest/gtest.h>

#include "tests/unit/server/cache/simulation.h"

namespace forebay::cache {
namespace {

Plan Loaders(const std::vector<std::int64_t>& periods_nanos, double fraction) {
  Plan plan;
  plan.samples = 2'000;
  plan.epochs = 2;
  plan.fraction = fraction;
  for (const std::int64_t period : periods_nanos) {
    plan.loaders.push_back(
        {.seed = plan.loaders.size(), .period_nanos = period});
  }
  return plan;
}

void ExpectNearlyClairvoyant(const HitRatios& ratios) {
  EXPECT_GE(ratios.ours, 0.95 * ratios.clairvoyant);
  EXPECT_GE(ratios.ours, ratios.clairvoyant - 0.02);
  EXPECT_GT(ratios.ours, ratios.lru);
}

TEST(HitRatioTest, OneLoaderKeepsWhatFits) {
  const HitRatios ratios = Simulate(Loaders({1'000'000}, 0.25));
  EXPECT_NEAR(ratios.clairvoyant, 0.25, 0.001);
  ExpectNearlyClairvoyant(ratios);
}

TEST(HitRatioTest, SeveralLoadersFindWhatAnotherReads) {
  ExpectNearlyClairvoyant(Simulate(Loaders({1'000'000, 1'000'000}, 0.10)));
  ExpectNearlyClairvoyant(Simulate(Loaders({1'000'000, 1'000'000}, 0.50)));
  ExpectNearlyClairvoyant(
      Simulate(Loaders({500'000, 700'000, 1'100'000, 1'900'000}, 0.25)));
}

TEST(HitRatioTest, WhatFitsIsReadOnce) {
  const HitRatios ratios = Simulate(Loaders({700'000, 1'000'000}, 1));
  EXPECT_EQ(ratios.bytes_read, ratios.bytes);
  EXPECT_EQ(ratios.ours, 1);
}

}  // namespace
}  // namespace forebay::cache
