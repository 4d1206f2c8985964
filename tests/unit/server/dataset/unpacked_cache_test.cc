#include "server/dataset/unpacked_cache.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace forebay::dataset {
namespace {

// Keeps the text under a digest of its own.
int Keep(UnpackedCache& cache, const std::string& text) {
  int calls = 0;
  cache.Keep(Version{static_cast<std::uint8_t>(text.front())}, text.size(),
             [&] {
               ++calls;
               return std::make_shared<const std::string>(text);
             });
  return calls;
}

bool Has(UnpackedCache& cache, const std::string& text) {
  const auto found =
      cache.Find(Version{static_cast<std::uint8_t>(text.front())});
  return found != nullptr && *found == text;
}

TEST(UnpackedCacheTest, KeepsTheLastOnes) {
  base::MemoryBudget budget(1 << 20);
  UnpackedCache cache(&budget, 8);
  EXPECT_EQ(Keep(cache, "abcd"), 1);
  EXPECT_EQ(Keep(cache, "1234"), 1);
  EXPECT_TRUE(Has(cache, "abcd"));
  EXPECT_EQ(Keep(cache, "5678"), 1);
  EXPECT_TRUE(Has(cache, "abcd"));
  EXPECT_FALSE(Has(cache, "1234"));  // was used least lately
  EXPECT_TRUE(Has(cache, "5678"));
}

TEST(UnpackedCacheTest, MakesNothingWithoutRoom) {
  UnpackedCache none(nullptr, 100);
  EXPECT_EQ(Keep(none, "abcd"), 0);
  base::MemoryBudget budget(64);
  UnpackedCache poor(&budget, 100);
  EXPECT_EQ(Keep(poor, "abcd"), 0);
  EXPECT_FALSE(Has(poor, "abcd"));
  EXPECT_EQ(budget.used(), 0);
  base::MemoryBudget ample(1 << 20);
  UnpackedCache small(&ample, 3);
  EXPECT_EQ(Keep(small, "abcd"), 0);
  EXPECT_EQ(ample.used(), 0);
}

// Two readers may unpack the same at once.
TEST(UnpackedCacheTest, KeepsTheSameOnce) {
  base::MemoryBudget budget(1 << 20);
  UnpackedCache cache(&budget, 8);
  EXPECT_EQ(Keep(cache, "1234"), 1);
  const std::uint64_t one = budget.used();
  Keep(cache, "abcd");
  EXPECT_EQ(Keep(cache, "abcd"), 0);
  EXPECT_EQ(budget.used(), 2 * one);
  EXPECT_TRUE(Has(cache, "1234"));
  EXPECT_TRUE(Has(cache, "abcd"));
}

TEST(UnpackedCacheTest, CountsWhatSmallOnesTakeBesidesTheirText) {
  base::MemoryBudget budget(1 << 20);
  UnpackedCache cache(&budget, 1 << 20);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(Keep(cache, std::string(1, static_cast<char>(i))), 1);
  EXPECT_GE(budget.used(), 100 * 200);
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(Has(cache, std::string(1, static_cast<char>(i))));
}

}  // namespace
}  // namespace forebay::dataset
