#include "server/base/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace forebay::base {
namespace {

TEST(MemoryBudgetTest, GivesBackOnDestruction) {
  MemoryBudget budget(100);
  {
    const auto reservation = budget.Reserve(60, "a slot");
    ASSERT_TRUE(reservation.ok());
    EXPECT_EQ(reservation->bytes(), 60);
    EXPECT_EQ(budget.used(), 60);
  }
  EXPECT_EQ(budget.used(), 0);
  EXPECT_EQ(budget.limit(), 100);
}

TEST(MemoryBudgetTest, RefusesWhatWouldPassTheLimit) {
  MemoryBudget budget(100 << 20);
  const auto first = budget.Reserve(60 << 20, "a slot");
  const auto second = budget.Reserve(41 << 20, "decoder scratch");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(second.status().message())
                .find("decoder scratch: it needs 41 MiB, and 60 of 100 MiB"),
            std::string::npos);
  EXPECT_TRUE(budget.Reserve(40 << 20, "what is left").ok());
  EXPECT_FALSE(budget.Reserve(UINT64_MAX, "all").ok());
}

TEST(MemoryBudgetTest, MovedReservationsAreGivenBackOnce) {
  MemoryBudget budget(100);
  MemoryReservation a = *budget.Reserve(10, "a");
  MemoryReservation b = *budget.Reserve(20, "b");
  a = std::move(b);
  EXPECT_EQ(budget.used(), 20);
  MemoryReservation c(std::move(a));
  EXPECT_EQ(budget.used(), 20);
  c.Release();
  c.Release();
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudgetTest, ReservationsGrowAndShrink) {
  MemoryBudget budget(100);
  MemoryReservation a = *budget.Reserve(10, "a");
  a.Add(*budget.Reserve(20, "b"));
  a.Add({});
  EXPECT_EQ(a.bytes(), 30);
  a.ShrinkTo(12);
  EXPECT_EQ(a.bytes(), 12);
  EXPECT_EQ(budget.used(), 12);
  MemoryReservation none;
  none.Add(std::move(a));
  EXPECT_EQ(none.bytes(), 12);
  none.Release();
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudgetTest, WhoCanDoWithoutLeavesAsMuch) {
  MemoryBudget budget(100);
  const auto first = budget.ReserveSpare(50);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(budget.ReserveSpare(26).has_value());
  EXPECT_FALSE(budget.ReserveSpare(UINT64_MAX).has_value());
  const auto second = budget.ReserveSpare(25);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(budget.used(), 75);
}

TEST(MemoryBudgetTest, IsNeverPassed) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  constexpr std::uint64_t kLimit = 1000;
  MemoryBudget budget(kLimit);
  std::atomic<std::uint64_t> held = 0;
  std::atomic<int> breaches = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        std::mt19937 random(seed + thread);
        for (int i = 0; i < 5000; ++i) {
          const std::uint64_t bytes = random() % 600;
          const auto reservation = budget.Reserve(bytes, "test");
          if (!reservation.ok()) continue;
          if (held.fetch_add(bytes) + bytes > kLimit) ++breaches;
          held -= bytes;
        }
      });
  }
  EXPECT_EQ(breaches, 0);
  EXPECT_EQ(budget.used(), 0);
}

}  // namespace
}  // namespace forebay::base
