#include "server/cache/ledger.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace forebay::cache {
namespace {

TEST(LedgerTest, NeverGivesMoreThanThereIs) {
  base::MemoryBudget budget(100);
  auto ledger = std::make_shared<Ledger>(*budget.Reserve(100, "a test"));
  auto most = ledger->Take(90);
  ASSERT_TRUE(most.has_value());
  EXPECT_FALSE(ledger->Take(11).has_value());
  EXPECT_FALSE(ledger->Take(UINT64_MAX).has_value());
  {
    const auto rest = ledger->Take(10);
    EXPECT_EQ(rest->bytes(), 10);
    EXPECT_EQ(ledger->used(), 100);
  }
  EXPECT_EQ(ledger->used(), 90);
  Charge moved = *std::move(most);
  EXPECT_EQ(ledger->used(), 90);
  moved = Charge();
  EXPECT_EQ(ledger->used(), 0);
}

TEST(LedgerTest, ChargesOutliveTheLedgersOwner) {
  base::MemoryBudget budget(100);
  auto ledger = std::make_shared<Ledger>(*budget.Reserve(100, "a test"));
  auto charge = ledger->Take(1);
  ledger = nullptr;
  EXPECT_EQ(budget.used(), 100);
  charge.reset();
  EXPECT_EQ(budget.used(), 0);
}

TEST(LedgerTest, HoldsItsLimitAgainstManyThreads) {
  base::MemoryBudget budget(100);
  auto ledger = std::make_shared<Ledger>(*budget.Reserve(100, "a test"));
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5'000; ++i) {
          const auto charge = ledger->Take(40);
          EXPECT_LE(ledger->used(), 100);
        }
      });
    }
  }
  EXPECT_EQ(ledger->used(), 0);
}

}  // namespace
}  // namespace forebay::cache
