#include "server/stream/slot_reservation.h"

#include <algorithm>
#include <cstdint>

#include "server/base/memory_budget.h"
#include "server/storage/byte_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::uint64_t WindowFor(std::uint64_t limit, std::uint64_t sample_bytes,
                        int places = 4) {
  base::MemoryBudget budget(limit);
  const auto window =
      ReserveReadWindow(&budget, NumberedDataset(10, sample_bytes), places);
  CHECK_THAT(window, IsOk());
  return window.ok() ? window->bytes() : 0;
}

TEST_CASE("The reserved read window has room for small samples",
          "[stream][slot_reservation]") {
  CHECK(WindowFor(1024 * kMiB, 100) == 16 * kMiB);
}

// The number of CPUs is the daemon's limit, not the number that the host has.
TEST_CASE(
    "The reserved read window has room for a large sample for each thread and "
    "one more",
    "[stream][slot_reservation]") {
  const std::uint64_t held = storage::HeldBytes(20 * kMiB);
  for (const int places : {1, 2, 64}) {
    CHECK(WindowFor(std::uint64_t{1} << 44, 20 * kMiB, places) ==
          held * (static_cast<std::uint64_t>(places) + 1));
  }
}

TEST_CASE(
    "The reserved read window takes a small part of the memory for large "
    "samples",
    "[stream][slot_reservation]") {
  CHECK(WindowFor(400 * kMiB, 20 * kMiB) ==
        std::max(400 * kMiB / 16, storage::HeldBytes(20 * kMiB)));
}

TEST_CASE("The reserved read window takes less where memory is short",
          "[stream][slot_reservation]") {
  base::MemoryBudget budget(1600 * kMiB);
  const auto taken = budget.Reserve(1560 * kMiB, "a test");
  REQUIRE_THAT(taken, IsOk());
  const auto window =
      ReserveReadWindow(&budget, NumberedDataset(10, 30 * kMiB), 4);
  REQUIRE_THAT(window, IsOk());
  CHECK(window->bytes() == storage::HeldBytes(30 * kMiB));
}

}  // namespace
}  // namespace forebay::stream
