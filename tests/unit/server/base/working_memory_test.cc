#include "server/base/working_memory.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST_CASE(
    "Working memory is reserved before it is made and given back at its end",
    "[base][working_memory]") {
  MemoryBudget budget(100 * kMiB);
  {
    WorkingMemory memory(&budget, "a scan");
    for (int i = 0; i < 60; ++i) {
      REQUIRE_THAT(memory.Grow(kMiB), IsOk());
      CHECK(budget.used() >= (i + 1) * kMiB);
    }
    CHECK(budget.used() < 62 * kMiB);
    memory.Shrink(50 * kMiB);
    REQUIRE_THAT(memory.Grow(50 * kMiB), IsOk());
    CHECK(budget.used() < 62 * kMiB);
  }
  CHECK(budget.used() == 0);
}

TEST_CASE("Working memory stops at the limit and says what needs how much",
          "[base][working_memory]") {
  MemoryBudget budget(10 * kMiB);
  const MemoryReservation other = *budget.Reserve(2 * kMiB, "slots");
  WorkingMemory memory(&budget, "its index");
  REQUIRE_THAT(memory.Grow(7 * kMiB), IsOk());
  const absl::Status refused = memory.Grow(kMiB + 1);
  CHECK_THAT(refused, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(refused.message(),
             Contains("no memory for its index: it needs 9 MiB or more, and "
                      "2 of 10 MiB are in use (memory.limit)"));
  CHECK_FALSE(memory.Grow(UINT64_MAX).ok());
  // The whole budget can be used, although it is not a whole number of steps.
  CHECK_THAT(memory.Grow(kMiB), IsOk());
  CHECK(budget.used() == budget.limit());
}

TEST_CASE("Working memory that is kept outlives the work",
          "[base][working_memory]") {
  MemoryBudget budget(10 * kMiB);
  MemoryReservation kept;
  {
    WorkingMemory memory(&budget, "its index");
    REQUIRE_THAT(memory.Grow(3 * kMiB), IsOk());
    auto keeping = memory.Keep(2 * kMiB);
    REQUIRE_THAT(keeping, IsOk());
    kept = *std::move(keeping);
    CHECK_FALSE(memory.Keep(6 * kMiB).ok());
    CHECK(budget.used() >= 5 * kMiB);
  }
  CHECK(kept.bytes() == 2 * kMiB);
  CHECK(budget.used() == 2 * kMiB);
}

TEST_CASE("Working memory counts what a vector has while it grows",
          "[base][working_memory]") {
  MemoryBudget budget(8 * kMiB);
  WorkingMemory memory(&budget, "numbers");
  std::vector<std::uint64_t> numbers;
  std::string text;
  while (memory.MakeRoom(numbers, 1).ok()) {
    numbers.push_back(1);
    REQUIRE(budget.used() >= numbers.capacity() * sizeof(numbers[0]));
  }
  // The vector has 4 MiB. To double, it needs 8 MiB more at the same time: 12
  // MiB in all.
  CHECK(numbers.capacity() * sizeof(numbers[0]) == 4 * kMiB);
  CHECK(numbers.size() == numbers.capacity());
  REQUIRE_THAT(memory.MakeRoom(text, kMiB), IsOk());
  CHECK(text.capacity() >= kMiB);
  CHECK_FALSE(memory.MakeRoom(text, 10 * kMiB).ok());
}

}  // namespace
}  // namespace forebay::base
