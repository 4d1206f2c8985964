#include "server/daemon/cache_memory.h"

#include <gtest/gtest.h>

namespace forebay::daemon {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(CacheMemoryTest, SizesAndShares) {
  EXPECT_EQ(*CacheMemory("64MiB", 100 * kMiB), 64 * kMiB);
  EXPECT_EQ(*CacheMemory("25%", 100 * kMiB), 25 * kMiB);
  EXPECT_EQ(*CacheMemory("0", 100 * kMiB), 0);
  EXPECT_EQ(*CacheMemory("0%", 100 * kMiB), 0);
  // Whether that can be had is for the budget to say.
  EXPECT_EQ(*CacheMemory("200MiB", 100 * kMiB), 200 * kMiB);
  for (const char* text : {"", "much", "1", "-1B", "101%", "automatic"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CacheMemory(text, kMiB).status()))
        << text;
  }
}

TEST(CacheMemoryTest, AutoLeavesRoomForLoaders) {
  EXPECT_EQ(*CacheMemory("auto", 16'384 * kMiB), 4'096 * kMiB);
  EXPECT_EQ(*CacheMemory("auto", 1'024 * kMiB), 256 * kMiB);
  EXPECT_EQ(*CacheMemory("auto", 600 * kMiB), 88 * kMiB);
  EXPECT_EQ(*CacheMemory("auto", 512 * kMiB), 0);
  EXPECT_EQ(*CacheMemory("auto", 0), 0);
}

}  // namespace
}  // namespace forebay::daemon
