#include "server/base/working_memory.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace forebay::base {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(WorkingMemoryTest, IsReservedBeforeItIsMadeAndGivenBackAtItsEnd) {
  MemoryBudget budget(100 * kMiB);
  {
    WorkingMemory memory(&budget, "a scan");
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(memory.Grow(kMiB).ok());
      EXPECT_GE(budget.used(), (i + 1) * kMiB);
    }
    EXPECT_LT(budget.used(), 62 * kMiB);
    memory.Shrink(50 * kMiB);
    ASSERT_TRUE(memory.Grow(50 * kMiB).ok());
    EXPECT_LT(budget.used(), 62 * kMiB);
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST(WorkingMemoryTest, StopsAtTheLimitAndSaysWhatNeedsHowMuch) {
  MemoryBudget budget(10 * kMiB);
  const MemoryReservation other = *budget.Reserve(2 * kMiB, "slots");
  WorkingMemory memory(&budget, "its index");
  ASSERT_TRUE(memory.Grow(7 * kMiB).ok());
  const absl::Status refused = memory.Grow(kMiB + 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("no memory for its index: it needs 9 MiB or more, and "
                        "2 of 10 MiB are in use (memory.limit)"));
  EXPECT_FALSE(memory.Grow(UINT64_MAX).ok());
  // All of it can be had, though it is no whole number of steps.
  EXPECT_TRUE(memory.Grow(kMiB).ok());
  EXPECT_EQ(budget.used(), budget.limit());
}

TEST(WorkingMemoryTest, WhatIsKeptOutlivesTheWork) {
  MemoryBudget budget(10 * kMiB);
  MemoryReservation kept;
  {
    WorkingMemory memory(&budget, "its index");
    ASSERT_TRUE(memory.Grow(3 * kMiB).ok());
    auto keeping = memory.Keep(2 * kMiB);
    ASSERT_TRUE(keeping.ok()) << keeping.status();
    kept = *std::move(keeping);
    EXPECT_FALSE(memory.Keep(6 * kMiB).ok());
    EXPECT_GE(budget.used(), 5 * kMiB);
  }
  EXPECT_EQ(kept.bytes(), 2 * kMiB);
  EXPECT_EQ(budget.used(), 2 * kMiB);
}

TEST(WorkingMemoryTest, CountsWhatAVectorHasWhileItGrows) {
  MemoryBudget budget(8 * kMiB);
  WorkingMemory memory(&budget, "numbers");
  std::vector<std::uint64_t> numbers;
  std::string text;
  while (memory.MakeRoom(numbers, 1).ok()) {
    numbers.push_back(1);
    ASSERT_GE(budget.used(), numbers.capacity() * sizeof(numbers[0]));
  }
  // Twice as much beside it would take 12 MiB.
  EXPECT_EQ(numbers.capacity() * sizeof(numbers[0]), 4 * kMiB);
  EXPECT_EQ(numbers.size(), numbers.capacity());
  ASSERT_TRUE(memory.MakeRoom(text, kMiB).ok());
  EXPECT_GE(text.capacity(), kMiB);
  EXPECT_FALSE(memory.MakeRoom(text, 10 * kMiB).ok());
}

}  // namespace
}  // namespace forebay::base
