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

class ChunkCacheTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Get(ChunkCache& cache, const std::string& chunk,
                                  std::uint32_t mask, std::uint64_t bytes) {
    const auto found = cache.Get(
        Shuffle(), mask, AsBytes(chunk), bytes, rows_,
        [this](std::uint64_t size) -> absl::StatusOr<absl::Span<std::uint8_t>> {
          ++asked_;
          if (size > room_.size())
            return absl::ResourceExhaustedError("there is no room");
          return absl::MakeSpan(reinterpret_cast<std::uint8_t*>(room_.data()),
                                size);
        });
    if (!found.ok()) return found.status();
    return std::string(found->bytes.begin(), found->bytes.end());
  }

  // Whether it has the chunk, and needs no room for it.
  bool Has(ChunkCache& cache, const std::string& chunk) {
    const int before = asked_;
    return Get(cache, chunk, 0, chunk.size()).ok() && asked_ == before;
  }

  std::string room_ = std::string(5000, '\0');
  int asked_ = 0;  // times
  std::uint64_t rows_ = 2;
};

// No other sample is in it.
TEST_F(ChunkCacheTest, KeepsNoneOfOneRow) {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 1000);
  rows_ = 1;
  EXPECT_EQ(*Get(cache, "abcd", 0, 4), "acbd");
  EXPECT_FALSE(Has(cache, "abcd"));
  EXPECT_EQ(budget.used(), 0);
}

TEST_F(ChunkCacheTest, KeepsTheLastOnes) {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 8);
  EXPECT_EQ(*Get(cache, "acbd", 0, 4), "abcd");
  ASSERT_TRUE(Get(cache, "1234", 0, 4).ok());
  EXPECT_TRUE(Has(cache, "acbd"));
  EXPECT_EQ(*Get(cache, "acbd", 0, 4), "abcd");
  ASSERT_TRUE(Get(cache, "5678", 0, 4).ok());
  EXPECT_TRUE(Has(cache, "acbd"));
  EXPECT_FALSE(Has(cache, "1234"));  // was used least lately
}

TEST_F(ChunkCacheTest, TellsApartWhatIsMadeOfChunks) {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 100);
  ASSERT_TRUE(Get(cache, "acbd", 0, 4).ok());
  EXPECT_EQ(*Get(cache, "acbd", 1, 4), "acbd");
  EXPECT_FALSE(Get(cache, "acbd", 0, 5).ok());
}

TEST_F(ChunkCacheTest, KeepsNothingWithoutMemory) {
  base::MemoryBudget budget(16);
  ChunkCache cache(&budget, 100);
  ASSERT_TRUE(Get(cache, "acbd", 0, 4).ok());
  EXPECT_FALSE(Has(cache, "acbd"));
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(ChunkCacheTest, UnpacksIntoTheRoomAlone) {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 100);
  room_.clear();
  EXPECT_TRUE(absl::IsResourceExhausted(Get(cache, "acbd", 0, 4).status()));
  EXPECT_EQ(asked_, 1);
}

}  // namespace
}  // namespace forebay::dataset::hdf5
