#include "server/schedule/stall_threshold.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace forebay::schedule {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// Tells of `count` requests that took so long.
void Observe(StallThreshold& threshold, int count, std::int64_t nanos) {
  for (int i = 0; i < count; ++i) threshold.Observe(nanos);
}

TEST(StallThresholdTest, IsASecondWhileLittleIsKnown) {
  StallThreshold threshold;
  EXPECT_EQ(threshold.nanos(), StallThreshold::kUnknownNanos);
  Observe(threshold, 15, kMilli);
  EXPECT_EQ(threshold.nanos(), StallThreshold::kUnknownNanos);
  Observe(threshold, 1, kMilli);
  EXPECT_EQ(threshold.nanos(), StallThreshold::kMinNanos);
}

TEST(StallThresholdTest, IsTenTimesWhatRequestsUsuallyTakeAtMost) {
  StallThreshold threshold;
  Observe(threshold, 100, 30 * kMilli);
  EXPECT_GE(threshold.nanos(), 300 * kMilli);
  EXPECT_LE(threshold.nanos(), 340 * kMilli);
}

TEST(StallThresholdTest, IsNotRaisedByStallsBeyondAHundredMedians) {
  StallThreshold threshold;
  for (int i = 0; i < 50; ++i) {
    Observe(threshold, 19, 5 * kMilli);
    threshold.Observe(60'000 * kMilli);
  }
  EXPECT_LE(threshold.nanos(), 570 * kMilli);
}

TEST(StallThresholdTest, FollowsASourceThatHasBecomeSlow) {
  StallThreshold threshold;
  Observe(threshold, 1000, kMilli);
  Observe(threshold, 3000, 800 * kMilli);
  EXPECT_GE(threshold.nanos(), 8'000 * kMilli);
}

// A fault that lasts for 600 s must not hide the next one for hours.
TEST(StallThresholdTest, GrowsBySteps) {
  StallThreshold threshold;
  Observe(threshold, 16, 600'000 * kMilli);
  EXPECT_LE(threshold.nanos(), 4'000 * kMilli);
  Observe(threshold, 16, 600'000 * kMilli);
  EXPECT_LE(threshold.nanos(), 16'000 * kMilli);
}

}  // namespace
}  // namespace forebay::schedule
