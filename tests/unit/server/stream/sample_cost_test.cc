#include "server/stream/sample_cost.h"

#include <gtest/gtest.h>

namespace forebay::stream {
namespace {

constexpr int kMany = 200;

TEST(SampleCostTest, CheapSamplesShareATask) {
  SampleCost cost(SampleCost::kProducedNanos);
  EXPECT_EQ(cost.task_samples(), 1);
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(1'000'000);
    cost.Took(1'000'000);
  }
  EXPECT_EQ(cost.task_samples(), 7);  // the mean comes near, and stays above
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(0);
    cost.Took(0);
  }
  EXPECT_EQ(cost.task_samples(), 64);
}

TEST(SampleCostTest, SamplesThatSleepHaveATaskEach) {
  SampleCost cost(SampleCost::kProducedNanos);
  for (int i = 0; i < kMany; ++i) {
    cost.Measured(50'000);
    cost.Took(10'000'000);
  }
  EXPECT_EQ(cost.task_samples(), 1);
  EXPECT_LT(cost.cpu_nanos(), 60'000);
}

}  // namespace
}  // namespace forebay::stream
