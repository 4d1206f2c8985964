#include "server/stream/sample_cost.h"

#include <gtest/gtest.h>

namespace forebay::stream {
namespace {

constexpr int kMany = 200;

TEST(SampleCostTest, CheapSamplesShareATask) {
  SampleCost cost = SampleCost::OfProduced();
  EXPECT_EQ(cost.task_samples(), 1);
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(1'000'000);
    cost.Took(1'000'000);
  }
  EXPECT_EQ(cost.task_samples(), 8);
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(0);
    cost.Took(0);
  }
  EXPECT_EQ(cost.task_samples(), 64);
}

TEST(SampleCostTest, SamplesThatSleepHaveATaskEach) {
  SampleCost cost = SampleCost::OfProduced();
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(50'000);
    cost.Took(10'000'000);
  }
  EXPECT_EQ(cost.task_samples(), 1);
  EXPECT_LT(cost.cpu_nanos(), 60'000);
}

TEST(SampleCostTest, OneTellsThatSamplesTakeLong) {
  SampleCost cost = SampleCost::OfDecoded();
  EXPECT_FALSE(cost.is_known());
  EXPECT_EQ(cost.task_samples(), 1) << "many could take very long";
  cost.Measured(80'000'000);
  EXPECT_TRUE(cost.is_known());
  EXPECT_EQ(cost.cpu_nanos(), 80'000'000);
}

TEST(SampleCostTest, ATaskOfManyIsAShortOne) {
  SampleCost cost = SampleCost::OfDecoded();
  for (const std::int64_t nanos : {10'000, 300'000, 1'000'000, 4'000'000}) {
    for (int i = 0; i < kMany; ++i) cost.Measured(nanos);
    EXPECT_LE(cost.task_samples() * nanos, 4'500'000);
  }
}

}  // namespace
}  // namespace forebay::stream
