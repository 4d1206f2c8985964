#include "server/dataset/hdf5/chunk_cache.h"

#include <string>

#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::HasCode;
using tests::IsOk;

const std::vector<ChunkFilter>& Shuffle() {
  static const auto* const filters =
      new std::vector<ChunkFilter>{{FilterKind::kShuffle, 2}};
  return *filters;
}

class ChunkCacheTest {
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

  // Returns whether the cache has the chunk, so that it requests no memory for
  // it.
  bool Has(ChunkCache& cache, const std::string& chunk) {
    const int before = asked_;
    return Get(cache, chunk, 0, chunk.size()).ok() && asked_ == before;
  }

  std::string room_ = std::string(5000, '\0');
  int asked_ = 0;  // number of requests for memory
  std::uint64_t rows_ = 2;
};

// No other sample uses a chunk of one row, so the chunk is not kept.
TEST_CASE_METHOD(ChunkCacheTest,
                 "The HDF5 chunk cache keeps no chunk of one row",
                 "[hdf5][chunk_cache]") {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 1000);
  rows_ = 1;
  CHECK(*Get(cache, "abcd", 0, 4) == "acbd");
  CHECK_FALSE(Has(cache, "abcd"));
  CHECK(budget.used() == 0);
}

TEST_CASE_METHOD(ChunkCacheTest,
                 "The HDF5 chunk cache keeps the last used chunks",
                 "[hdf5][chunk_cache]") {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 8);
  CHECK(*Get(cache, "acbd", 0, 4) == "abcd");
  REQUIRE_THAT(Get(cache, "1234", 0, 4), IsOk());
  CHECK(Has(cache, "acbd"));
  CHECK(*Get(cache, "acbd", 0, 4) == "abcd");
  REQUIRE_THAT(Get(cache, "5678", 0, 4), IsOk());
  CHECK(Has(cache, "acbd"));
  CHECK_FALSE(Has(cache, "1234"));  // this chunk was the least recently used
}

TEST_CASE_METHOD(
    ChunkCacheTest,
    "The HDF5 chunk cache tells apart what filters make of the same chunk",
    "[hdf5][chunk_cache]") {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 100);
  REQUIRE_THAT(Get(cache, "acbd", 0, 4), IsOk());
  CHECK(*Get(cache, "acbd", 1, 4) == "acbd");
  CHECK_FALSE(Get(cache, "acbd", 0, 5).ok());
}

TEST_CASE_METHOD(ChunkCacheTest,
                 "The HDF5 chunk cache keeps nothing without memory",
                 "[hdf5][chunk_cache]") {
  base::MemoryBudget budget(16);
  ChunkCache cache(&budget, 100);
  REQUIRE_THAT(Get(cache, "acbd", 0, 4), IsOk());
  CHECK_FALSE(Has(cache, "acbd"));
  CHECK(budget.used() == 0u);
}

TEST_CASE_METHOD(ChunkCacheTest,
                 "The HDF5 chunk cache decompresses into the given room alone",
                 "[hdf5][chunk_cache]") {
  base::MemoryBudget budget(1 << 20);
  ChunkCache cache(&budget, 100);
  room_.clear();
  CHECK_THAT(Get(cache, "acbd", 0, 4),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(asked_ == 1);
}

}  // namespace
}  // namespace forebay::dataset::hdf5
