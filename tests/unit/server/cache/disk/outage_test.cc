#include "server/cache/disk/outage.h"

#include <gtest/gtest.h>

namespace forebay::cache::disk {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(OutageTest, LastsTwiceAsLongEachTime) {
  Outage outage(0);
  std::int64_t now = 0;
  EXPECT_FALSE(outage.IsOn(now));
  for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    EXPECT_TRUE(outage.Failed(now));
    EXPECT_FALSE(outage.Failed(now));  // under way when it began
    EXPECT_TRUE(outage.IsOn(now + seconds * kSecond - 1));
    now += seconds * kSecond;
    EXPECT_FALSE(outage.IsOn(now));
  }
  outage.Worked();
  EXPECT_TRUE(outage.Failed(now));
  EXPECT_FALSE(outage.IsOn(now + kSecond));
}

TEST(OutageTest, BearsAFewFailures) {
  Outage outage(2);
  EXPECT_FALSE(outage.Failed(0));
  EXPECT_FALSE(outage.Failed(0));
  outage.Worked();
  EXPECT_FALSE(outage.Failed(0));
  EXPECT_FALSE(outage.Failed(0));
  EXPECT_TRUE(outage.Failed(0));
  EXPECT_TRUE(outage.IsOn(kSecond - 1));
  EXPECT_FALSE(outage.IsOn(kSecond));
}

}  // namespace
}  // namespace forebay::cache::disk
