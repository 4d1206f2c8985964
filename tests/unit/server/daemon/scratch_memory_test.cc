#include "server/daemon/scratch_memory.h"

#include <gtest/gtest.h>

namespace forebay::daemon {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

TEST(ScratchMemoryTest, ManyWorkersShareWhatOneImageMayNeed) {
  const ScratchMemory scratch = ShareOutScratch(512 * kMiB, 2 * kGiB, 32);
  EXPECT_EQ(scratch.shared, 256 * kMiB);
  EXPECT_EQ(scratch.worker, 8 * kMiB);
  EXPECT_EQ(scratch.total(32), 512 * kMiB);
}

TEST(ScratchMemoryTest, WorkersHaveNoMoreThanAPhotographNeeds) {
  const ScratchMemory scratch = ShareOutScratch(512 * kMiB, 64 * kGiB, 32);
  EXPECT_EQ(scratch.shared, 512 * kMiB);
  EXPECT_EQ(scratch.worker, 128 * kMiB);
}

TEST(ScratchMemoryTest, NothingIsSharedWhereEachHasAll) {
  const ScratchMemory scratch = ShareOutScratch(16 * kMiB, 2 * kGiB, 8);
  EXPECT_EQ(scratch.worker, 16 * kMiB);
  EXPECT_EQ(scratch.shared, 0);
}

TEST(ScratchMemoryTest, StaysWithinAQuarter) {
  for (const std::uint64_t limit : {0 * kMiB, kMiB, 16 * kMiB, 512 * kMiB}) {
    for (const std::uint64_t memory :
         {0 * kMiB, 64 * kMiB, 150 * kMiB, 1024 * kMiB, 64 * kGiB}) {
      for (const int workers : {2, 3, 32, 200}) {
        const ScratchMemory scratch = ShareOutScratch(limit, memory, workers);
        EXPECT_LE(scratch.total(workers), memory / 4);
        EXPECT_LE(scratch.worker, limit);
        EXPECT_LE(scratch.shared, limit);
        EXPECT_TRUE(scratch.shared == 0 || scratch.worker < scratch.shared);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::daemon
