#include "server/dataset/hdf5/chunk_cache.h"

#include <string>

#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

const std::vector<Filter>& Shuffle() {
  static const auto* const filters =
      new std::vector<Filter>{{FilterKind::kShuffle, 2}};
  return *filters;
}

// Whether it gives the chunk that it gave before.
bool GivesSame(ChunkCache& cache, const std::string& chunk,
               const std::shared_ptr<const std::string>& before) {
  const auto found = cache.Get(Shuffle(), 0, AsBytes(chunk), chunk.size());
  return found.ok() && *found == before;
}

TEST(ChunkCacheTest, KeepsTheLastOnes) {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 8);
  const std::string first = "acbd";
  const std::string second = "1234";
  const auto one = cache.Get(Shuffle(), 0, AsBytes(first), 4);
  const auto two = cache.Get(Shuffle(), 0, AsBytes(second), 4);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(**one, "abcd");
  EXPECT_TRUE(GivesSame(cache, first, *one));
  ASSERT_TRUE(cache.Get(Shuffle(), 0, AsBytes("5678"), 4).ok());
  EXPECT_TRUE(GivesSame(cache, first, *one));
  EXPECT_FALSE(GivesSame(cache, second, *two));  // was used least lately
}

TEST(ChunkCacheTest, TellsApartWhatIsMadeOfChunks) {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 100);
  ASSERT_TRUE(cache.Get(Shuffle(), 0, AsBytes("acbd"), 4).ok());
  const auto plain = cache.Get(Shuffle(), 1, AsBytes("acbd"), 4);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(**plain, "acbd");
  EXPECT_FALSE(cache.Get(Shuffle(), 0, AsBytes("acbd"), 5).ok());
}

TEST(ChunkCacheTest, KeepsNothingWithoutRoom) {
  base::MemoryBudget budget(64);
  ChunkCache cache(&budget, 100);
  const std::string chunk = "acbd";
  const auto one = cache.Get(Shuffle(), 0, AsBytes(chunk), 4);
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(GivesSame(cache, chunk, *one));
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace forebay::dataset::hdf5
