#include "server/dataset/decompressed_cache.h"

#include <memory>
#include <string>

#include "tests/catch/catch.h"

namespace forebay::dataset {
namespace {

// Adds the text under its own digest. Returns how often the cache asked for the
// text.
int Keep(DecompressedCache& cache, const std::string& text) {
  int calls = 0;
  cache.Keep(Version{static_cast<std::uint8_t>(text.front())}, text.size(),
             [&] {
               ++calls;
               return std::make_shared<const std::string>(text);
             });
  return calls;
}

bool Has(DecompressedCache& cache, const std::string& text) {
  const auto found =
      cache.Find(Version{static_cast<std::uint8_t>(text.front())});
  return found != nullptr && *found == text;
}

TEST_CASE("The decompressed cache keeps the entries that were used last",
          "[dataset][decompressed_cache]") {
  base::MemoryBudget budget(1 << 20);
  DecompressedCache cache(&budget, 8);
  CHECK(Keep(cache, "abcd") == 1);
  CHECK(Keep(cache, "1234") == 1);
  CHECK(Has(cache, "abcd"));
  CHECK(Keep(cache, "5678") == 1);
  CHECK(Has(cache, "abcd"));
  CHECK_FALSE(Has(cache, "1234"));  // this entry was the least recently used
  CHECK(Has(cache, "5678"));
}

TEST_CASE("The decompressed cache makes nothing without room",
          "[dataset][decompressed_cache]") {
  DecompressedCache none(nullptr, 100);
  CHECK(Keep(none, "abcd") == 0);
  base::MemoryBudget budget(64);
  DecompressedCache poor(&budget, 100);
  CHECK(Keep(poor, "abcd") == 0);
  CHECK_FALSE(Has(poor, "abcd"));
  CHECK(budget.used() == 0);
  base::MemoryBudget ample(1 << 20);
  DecompressedCache small(&ample, 3);
  CHECK(Keep(small, "abcd") == 0);
  CHECK(ample.used() == 0);
}

// Two readers may decompress the same entry at once.
TEST_CASE("The decompressed cache keeps the same entry once",
          "[dataset][decompressed_cache]") {
  base::MemoryBudget budget(1 << 20);
  DecompressedCache cache(&budget, 8);
  CHECK(Keep(cache, "1234") == 1);
  const std::uint64_t one = budget.used();
  Keep(cache, "abcd");
  CHECK(Keep(cache, "abcd") == 0);
  CHECK(budget.used() == 2 * one);
  CHECK(Has(cache, "1234"));
  CHECK(Has(cache, "abcd"));
}

TEST_CASE(
    "The decompressed cache counts what small entries take besides their text",
    "[dataset][decompressed_cache]") {
  base::MemoryBudget budget(1 << 20);
  DecompressedCache cache(&budget, 1 << 20);
  for (int i = 0; i < 100; ++i)
    CHECK(Keep(cache, std::string(1, static_cast<char>(i))) == 1);
  CHECK(budget.used() >= 100 * 200);
  for (int i = 0; i < 100; ++i)
    CHECK(Has(cache, std::string(1, static_cast<char>(i))));
}

}  // namespace
}  // namespace forebay::dataset
