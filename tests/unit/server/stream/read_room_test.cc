#include "server/stream/read_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>

namespace forebay::stream {
namespace {

TEST(ReadRoomTest, GivesBackWhatBytesInFlightDoWithout) {
  base::MemoryBudget budget(1000);
  ReadRoom room(&budget, *budget.Reserve(100, "reads"));
  EXPECT_EQ(room.window(), 100);
  EXPECT_TRUE(room.Resize(300));
  EXPECT_EQ(budget.used(), 300);
  room.Enter(250);
  EXPECT_TRUE(room.Resize(50)) << "at least its least";
  EXPECT_EQ(room.window(), 100);
  EXPECT_EQ(budget.used(), 250) << "they are still there";
  room.Leave(60);
  EXPECT_EQ(budget.used(), 190);
  room.Leave(190);
  EXPECT_EQ(budget.used(), 100);
}

TEST(ReadRoomTest, ClosedItHoldsWhatIsInFlightAlone) {
  base::MemoryBudget budget(1000);
  ReadRoom room(&budget, *budget.Reserve(100, "reads"));
  room.Enter(30);
  room.Close();
  EXPECT_EQ(budget.used(), 30);
  EXPECT_FALSE(room.Resize(200));
  room.Leave(30);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_TRUE(room.Open().ok());
  EXPECT_EQ(room.window(), 100);
  EXPECT_EQ(budget.used(), 100);
  room.Enter(30);
  room.Close();
  EXPECT_TRUE(room.Open().ok());
  EXPECT_EQ(budget.used(), 100) << "what is in flight is in it";
}

TEST(ReadRoomTest, OpensWithWhatIsInFlightStill) {
  base::MemoryBudget budget(1000);
  ReadRoom room(&budget, *budget.Reserve(100, "reads"));
  ASSERT_TRUE(room.Resize(400));
  room.Enter(400);
  room.Close();
  auto others = budget.Reserve(600, "others");
  EXPECT_TRUE(room.Open().ok());
  EXPECT_EQ(budget.used(), 1000);
  room.Close();
  room.Leave(400);
  EXPECT_EQ(budget.used(), 600);
  others = budget.Reserve(350, "more");
  ASSERT_TRUE(others.ok());
  EXPECT_TRUE(room.Open().ok());
  room.Close();
  const auto rest = budget.Reserve(600, "the rest");
  ASSERT_TRUE(rest.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(room.Open()));
  EXPECT_EQ(budget.used(), 950);
}

TEST(ReadRoomTest, WithoutMemoryItStaysAsItIs) {
  base::MemoryBudget budget(1000);
  ReadRoom room(&budget, *budget.Reserve(100, "reads"));
  ASSERT_TRUE(room.Resize(200));
  const auto others = budget.Reserve(700, "others");
  EXPECT_FALSE(room.Resize(260)) << "all that is left";
  EXPECT_EQ(room.window(), 200);
  EXPECT_EQ(budget.used(), 900);
  EXPECT_TRUE(room.Resize(250));
}

TEST(ReadRoomTest, HoldsWhatIsInFlightAndNothingForLong) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  base::MemoryBudget budget(10'000);
  for (int round = 0; round < 20; ++round) {
    {
      ReadRoom room(&budget, *budget.Reserve(500, "reads"));
      base::MemoryReservation others;
      std::deque<std::uint64_t> flights;
      for (int step = 0; step < 2'000; ++step) {
        if (random() % 10 == 0) room.Resize(random() % 6'000);
        if (random() % 50 == 0) {
          others.Release();
          auto taken = budget.Reserve(random() % 9'000, "others");
          if (taken.ok()) others = *std::move(taken);
        }
        const std::uint64_t bytes = random() % 500;
        if (random() % 2 == 0 && room.in_flight() + bytes <= room.window()) {
          room.Enter(bytes);
          flights.push_back(bytes);
        } else if (!flights.empty()) {
          room.Leave(flights.front());
          flights.pop_front();
        }
        ASSERT_EQ(budget.used() - others.bytes(),
                  std::max(room.window(), room.in_flight()));
      }
      for (const std::uint64_t bytes : flights) room.Leave(bytes);
      ASSERT_TRUE(room.Resize(0));
      EXPECT_EQ(budget.used() - others.bytes(), 500);
    }
    EXPECT_EQ(budget.used(), 0);
  }
}

}  // namespace
}  // namespace forebay::stream
