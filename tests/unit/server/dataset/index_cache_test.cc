#include "server/dataset/index_cache.h"

#include <cstdint>
#include <memory>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

class IndexCacheTest {
 protected:
  // In this test, an index is only a reservation of memory in the budget.
  using Index = std::shared_ptr<base::MemoryReservation>;

  // Opens an index of a new place.
  Index Open(std::uint64_t bytes) {
    return OpenAt(std::to_string(++places_), bytes);
  }
  Index OpenAt(const std::string& place, std::uint64_t bytes) {
    auto index = std::make_shared<base::MemoryReservation>(
        *budget_.Reserve(bytes, "an index"));
    cache_.Keep(place, index, bytes);
    return index;
  }

  int places_ = 0;

  std::int64_t now_ = 0;
  base::MemoryBudget budget_{80 * kMib};
  IndexCache cache_{&budget_, [this] { return now_; }};
};

TEST_CASE_METHOD(IndexCacheTest,
                 "An index that is not open any more is kept in memory",
                 "[dataset][index_cache]") {
  std::weak_ptr<base::MemoryReservation> index = OpenAt("a", 5 * kMib);
  CHECK_FALSE(index.expired());
  CHECK(budget_.used() == 5 * kMib);
  // An index that is opened twice is kept once.
  cache_.Keep("a", index.lock(), 5 * kMib);
  CHECK(index.use_count() == 1);
}

TEST_CASE_METHOD(IndexCacheTest,
                 "Another index of a place succeeds the kept one",
                 "[dataset][index_cache]") {
  OpenAt("a", 5 * kMib);
  OpenAt("b", 4 * kMib);
  OpenAt("a", 6 * kMib);
  CHECK(budget_.used() == 10 * kMib);
  OpenAt("a", 1);
  CHECK(budget_.used() == 4 * kMib);
}

TEST_CASE_METHOD(IndexCacheTest, "Spare memory comes before kept indexes",
                 "[dataset][index_cache]") {
  Open(10 * kMib);
  CHECK(budget_.ReserveSpare(40 * kMib).has_value());
  CHECK(budget_.used() == 0);
}

TEST_CASE_METHOD(IndexCacheTest,
                 "Neither small nor huge indexes are kept in memory",
                 "[dataset][index_cache]") {
  Open(IndexCache::kLeast - 1);
  Open(11 * kMib);
  CHECK(budget_.used() == 0);
}

TEST_CASE_METHOD(IndexCacheTest,
                 "The kept index that was opened longest ago goes first",
                 "[dataset][index_cache]") {
  const std::weak_ptr<base::MemoryReservation> first = OpenAt("a", 4 * kMib);
  const std::weak_ptr<base::MemoryReservation> second = Open(5 * kMib);
  cache_.Keep("a", first.lock(), 4 * kMib);
  Open(6 * kMib);
  CHECK_FALSE(first.expired());
  CHECK(second.expired());
  CHECK(budget_.used() == 10 * kMib);
}

TEST_CASE_METHOD(IndexCacheTest, "A memory shortage frees all kept indexes",
                 "[dataset][index_cache]") {
  Open(5 * kMib);
  Open(5 * kMib);
  CHECK(budget_.used() == 10 * kMib);
  const auto other = budget_.Reserve(75 * kMib, "another");
  CHECK_THAT(other, IsOk());
  CHECK(budget_.used() == 75 * kMib);
}

TEST_CASE_METHOD(IndexCacheTest,
                 "A kept index that is open outlasts a memory shortage",
                 "[dataset][index_cache]") {
  const Index index = Open(10 * kMib);
  CHECK_THAT(budget_.Reserve(75 * kMib, "another"),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(index.use_count() == 1);
  CHECK(budget_.used() == 10 * kMib);
}

TEST_CASE_METHOD(IndexCacheTest, "Idle kept indexes are given up",
                 "[dataset][index_cache]") {
  Open(4 * kMib);
  now_ = 10;
  Open(5 * kMib);
  now_ = 15;
  cache_.GiveUpIdle(15);
  CHECK(budget_.used() == 5 * kMib);
  cache_.GiveUpIdle(6);
  CHECK(budget_.used() == 5 * kMib);
  cache_.GiveUpIdle(5);
  CHECK(budget_.used() == 0);
}

}  // namespace
}  // namespace forebay::dataset
