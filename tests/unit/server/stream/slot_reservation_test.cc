#include "server/stream/slot_reservation.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "server/storage/byte_source.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::uint64_t WindowFor(std::uint64_t limit, std::uint64_t sample_bytes,
                        int workers = 4) {
  base::MemoryBudget budget(limit);
  const auto window =
      ReserveReadWindow(&budget, NumberedDataset(10, sample_bytes), workers);
  EXPECT_TRUE(window.ok()) << window.status();
  return window.ok() ? window->bytes() : 0;
}

TEST(ReserveReadWindowTest, HasRoomForSmallSamples) {
  EXPECT_EQ(WindowFor(1024 * kMiB, 100), 16 * kMiB);
}

// A limit of the daemon's CPUs counts, not how many the host has.
TEST(ReserveReadWindowTest, HasRoomForALargeSampleForEachWorkerAndOneMore) {
  const std::uint64_t held = storage::HeldBytes(20 * kMiB);
  for (const int workers : {1, 2, 64}) {
    EXPECT_EQ(WindowFor(std::uint64_t{1} << 44, 20 * kMiB, workers),
              held * (static_cast<std::uint64_t>(workers) + 1));
  }
}

TEST(ReserveReadWindowTest, TakesASmallPartOfTheMemoryForThat) {
  EXPECT_EQ(WindowFor(400 * kMiB, 20 * kMiB),
            std::max(400 * kMiB / 16, storage::HeldBytes(20 * kMiB)));
}

TEST(ReserveReadWindowTest, TakesLessWhereMemoryIsShort) {
  base::MemoryBudget budget(1600 * kMiB);
  const auto taken = budget.Reserve(1560 * kMiB, "a test");
  ASSERT_TRUE(taken.ok());
  const auto window =
      ReserveReadWindow(&budget, NumberedDataset(10, 30 * kMiB), 4);
  ASSERT_TRUE(window.ok()) << window.status();
  EXPECT_EQ(window->bytes(), storage::HeldBytes(30 * kMiB));
}

}  // namespace
}  // namespace forebay::stream
