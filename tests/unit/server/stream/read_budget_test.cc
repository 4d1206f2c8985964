#include "server/stream/read_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>

namespace forebay::stream {
namespace {

TEST(ReadBudgetTest, GivesBackWhatBytesInFlightDoWithout) {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  EXPECT_EQ(read_budget.window(), 100);
  EXPECT_TRUE(read_budget.Resize(300));
  EXPECT_EQ(budget.used(), 300);
  read_budget.Enter(250);
  EXPECT_TRUE(read_budget.Resize(50)) << "at least its least";
  EXPECT_EQ(read_budget.window(), 100);
  EXPECT_EQ(budget.used(), 250) << "they are still there";
  read_budget.Leave(60);
  EXPECT_EQ(budget.used(), 190);
  read_budget.Leave(190);
  EXPECT_EQ(budget.used(), 100);
}

TEST(ReadBudgetTest, ClosedItHoldsWhatIsInFlightAlone) {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  read_budget.Enter(30);
  read_budget.Close();
  EXPECT_EQ(budget.used(), 30);
  EXPECT_FALSE(read_budget.Resize(200));
  read_budget.Leave(30);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_TRUE(read_budget.Open().ok());
  EXPECT_EQ(read_budget.window(), 100);
  EXPECT_EQ(budget.used(), 100);
  read_budget.Enter(30);
  read_budget.Close();
  EXPECT_TRUE(read_budget.Open().ok());
  EXPECT_EQ(budget.used(), 100) << "what is in flight is in it";
}

TEST(ReadBudgetTest, OpensWithWhatIsInFlightStill) {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  ASSERT_TRUE(read_budget.Resize(400));
  read_budget.Enter(400);
  read_budget.Close();
  auto others = budget.Reserve(600, "others");
  EXPECT_TRUE(read_budget.Open().ok());
  EXPECT_EQ(budget.used(), 1000);
  read_budget.Close();
  read_budget.Leave(400);
  EXPECT_EQ(budget.used(), 600);
  others = budget.Reserve(350, "more");
  ASSERT_TRUE(others.ok());
  EXPECT_TRUE(read_budget.Open().ok());
  read_budget.Close();
  const auto rest = budget.Reserve(600, "the rest");
  ASSERT_TRUE(rest.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(read_budget.Open()));
  EXPECT_EQ(budget.used(), 950);
}

TEST(ReadBudgetTest, WithoutMemoryItStaysAsItIs) {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  ASSERT_TRUE(read_budget.Resize(200));
  const auto others = budget.Reserve(700, "others");
  EXPECT_FALSE(read_budget.Resize(260)) << "all that is left";
  EXPECT_EQ(read_budget.window(), 200);
  EXPECT_EQ(budget.used(), 900);
  EXPECT_TRUE(read_budget.Resize(250));
}

TEST(ReadBudgetTest, HoldsWhatIsInFlightAndNothingForLong) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  base::MemoryBudget budget(10'000);
  for (int round = 0; round < 20; ++round) {
    {
      ReadBudget read_budget(&budget, *budget.Reserve(500, "reads"));
      base::MemoryReservation others;
      std::deque<std::uint64_t> flights;
      for (int step = 0; step < 2'000; ++step) {
        if (random() % 10 == 0) read_budget.Resize(random() % 6'000);
        if (random() % 50 == 0) {
          others.Release();
          auto taken = budget.Reserve(random() % 9'000, "others");
          if (taken.ok()) others = *std::move(taken);
        }
        const std::uint64_t bytes = random() % 500;
        if (random() % 2 == 0 &&
            read_budget.in_flight() + bytes <= read_budget.window()) {
          read_budget.Enter(bytes);
          flights.push_back(bytes);
        } else if (!flights.empty()) {
          read_budget.Leave(flights.front());
          flights.pop_front();
        }
        ASSERT_EQ(budget.used() - others.bytes(),
                  std::max(read_budget.window(), read_budget.in_flight()));
      }
      for (const std::uint64_t bytes : flights) read_budget.Leave(bytes);
      ASSERT_TRUE(read_budget.Resize(0));
      EXPECT_EQ(budget.used() - others.bytes(), 500);
    }
    EXPECT_EQ(budget.used(), 0);
  }
}

}  // namespace
}  // namespace forebay::stream
