#include "server/stream/pace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace forebay::stream {
namespace {

TEST(PaceTest, UrgencyIsTheTimeUntilTheTrainerNeedsASample) {
  Pace pace;
  EXPECT_EQ(pace.Urgency(0), 0);
  EXPECT_LT(pace.Urgency(1000), 1'000'000) << "who begins is in a hurry";
  pace.Published(10, 0);
  pace.Published(10, 1000);
  EXPECT_EQ(pace.Urgency(0), 0);
  EXPECT_EQ(pace.Urgency(20), 2000);
}

// Of two loaders of a job, the one with the slower trainer comes second, even
// if it is fewer samples ahead.
TEST(PaceTest, ASlowTrainerCanWait) {
  Pace fast;
  Pace slow;
  for (std::int64_t i = 0; i < 100; ++i) {
    fast.Published(10, i * 10'000);
    slow.Published(10, i * 1'000'000);
  }
  EXPECT_LT(fast.Urgency(20), slow.Urgency(12));
  EXPECT_EQ(fast.Urgency(0), slow.Urgency(0)) << "both have nothing left";
}

}  // namespace
}  // namespace forebay::stream
