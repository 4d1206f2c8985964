#include "server/stream/stock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "proto/shm_ring.h"
#include "server/cache/next_use.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSlot = 4096;
constexpr arena::Holder kHolder = 1;

class StockTest : public ::testing::Test {
 protected:
  // As the stream does when it is told that one more is to be made.
  void Make() {
    auto memory = arena::SlotPool::MakeMemory(1, kSlot);
    ASSERT_TRUE(memory.ok()) << memory.status();
    stock_.Grown(*std::move(memory));
  }
  // How many slots can be added.
  std::uint32_t GrowAll(bool spare) {
    std::uint32_t grown = 0;
    for (; stock_.Grow(spare); ++grown) Make();
    return grown;
  }
  std::uint32_t Put(const BatchKey& key) {
    const auto slot = stock_.Take();
    EXPECT_TRUE(slot.has_value());
    stock_.Put({.key = key, .slot = *slot, .samples = 1, .bytes = 1});
    return *slot;
  }
  // Everything goes, in this order; `wanted`: when, of what is wanted at all.
  std::vector<BatchKey> Order(
      const std::map<BatchKey, std::int64_t>& wanted = {}) {
    std::vector<BatchKey> order;
    while (const Finished* const victim =
               stock_.Victim([&](const BatchKey& key) {
                 const auto found = wanted.find(key);
                 return found == wanted.end() ? cache::kNever : found->second;
               })) {
      order.push_back(victim->key);
      stock_.Evict(*victim);
    }
    return order;
  }

  base::MemoryBudget budget_{20 * kSlot};
  Stock stock_{&budget_, kSlot};
};

TEST_F(StockTest, PayReservesAndEndPayGivesBack) {
  ASSERT_TRUE(stock_.Pay(4).ok());
  ASSERT_TRUE(stock_.Pay(3).ok());
  EXPECT_EQ(budget_.used(), 7 * kSlot);
  EXPECT_TRUE(absl::IsResourceExhausted(stock_.Pay(14)));
  EXPECT_EQ(budget_.used(), 7 * kSlot);
  stock_.EndPay(4);
  EXPECT_EQ(budget_.used(), 3 * kSlot);
  stock_.EndPay(3);
  EXPECT_EQ(budget_.used(), 0);
}

// What exists stays reserved when those who paid for it are gone, and whoever
// comes next pays for nothing that is there.
TEST_F(StockTest, SlotsThatAreThereStayReserved) {
  ASSERT_TRUE(stock_.Pay(4).ok());
  EXPECT_EQ(GrowAll(/*spare=*/false), 4);
  stock_.EndPay(4);
  EXPECT_EQ(budget_.used(), 4 * kSlot);
  ASSERT_TRUE(stock_.Pay(3).ok());
  EXPECT_EQ(budget_.used(), 4 * kSlot);
  stock_.Trim();
  EXPECT_EQ(budget_.used(), 3 * kSlot);
  EXPECT_EQ(stock_.pool().slots(), 3);
}

TEST_F(StockTest, GrowsAsFarAsIsPaidFor) {
  EXPECT_FALSE(stock_.Grow(/*spare=*/false));
  ASSERT_TRUE(stock_.Pay(2).ok());
  EXPECT_TRUE(stock_.Grow(/*spare=*/false));
  EXPECT_TRUE(stock_.Grow(/*spare=*/false));
  EXPECT_EQ(stock_.growing(), 2);
  EXPECT_FALSE(stock_.Grow(/*spare=*/false)) << "those in the making count";
  Make();
  Make();
  EXPECT_EQ(stock_.growing(), 0);
  EXPECT_EQ(stock_.pool().slots(), 2);
}

// Slots that are known to members cannot be given back to one who comes.
TEST_F(StockTest, WhatIsSpareLeavesHalfToOthers) {
  ASSERT_TRUE(stock_.Pay(4).ok());
  EXPECT_EQ(GrowAll(/*spare=*/true), 4 + 8);
  Stock other(&budget_, kSlot);
  EXPECT_TRUE(other.Pay(8).ok());
}

TEST_F(StockTest, ASlotThatCannotBeMadeIsTriedAgainWhenToldSo) {
  ASSERT_TRUE(stock_.Pay(1).ok());
  ASSERT_TRUE(stock_.Grow(/*spare=*/true));
  ASSERT_TRUE(stock_.Grow(/*spare=*/true));
  EXPECT_EQ(budget_.used(), 2 * kSlot);
  stock_.NotGrown();
  stock_.NotGrown();
  EXPECT_EQ(budget_.used(), kSlot);
  EXPECT_FALSE(stock_.Grow(/*spare=*/true));
  stock_.TryAgain();
  EXPECT_TRUE(stock_.Grow(/*spare=*/true));
}

TEST_F(StockTest, NeverHasMoreSlotsThanClientsKnow) {
  base::MemoryBudget plenty(10'000 * kSlot);
  Stock stock(&plenty, kSlot);
  std::uint32_t slots = 0;
  while (stock.Grow(/*spare=*/true)) ++slots;
  EXPECT_EQ(slots, proto::kMaxSlots);
  while (stock.growing() > 0) stock.NotGrown();
  EXPECT_EQ(plenty.used(), 0);
}

TEST_F(StockTest, WhatIsWantedLastGoesFirst) {
  ASSERT_TRUE(stock_.Pay(3).ok());
  GrowAll(/*spare=*/false);
  for (const std::uint64_t first : {0, 10, 20}) Put({1, first});
  EXPECT_EQ(Order({{{1, 0}, 5}, {{1, 10}, 7}, {{1, 20}, 6}}),
            (std::vector<BatchKey>{{1, 10}, {1, 20}, {1, 0}}));
}

// Whoever starts an epoch begins with what is kept longest.
TEST_F(StockTest, OfWhatNobodyWantsTheFirstOfTheNewestEpochStays) {
  ASSERT_TRUE(stock_.Pay(5).ok());
  GrowAll(/*spare=*/false);
  for (const BatchKey key : {BatchKey{2, 10}, {1, 0}, {2, 0}, {1, 10}, {2, 20}})
    Put(key);
  EXPECT_EQ(Order({{{1, 10}, 99}}),
            (std::vector<BatchKey>{{1, 0}, {2, 20}, {2, 10}, {2, 0}, {1, 10}}));
}

TEST_F(StockTest, NeitherTheLeasedNorFailuresAreVictims) {
  ASSERT_TRUE(stock_.Pay(2).ok());
  GrowAll(/*spare=*/false);
  const std::uint32_t leased = Put({0, 0});
  Put({0, 10});
  ASSERT_TRUE(stock_.pool().Lease(leased, kHolder));
  stock_.Put({.key = {0, 20}, .status = absl::DataLossError("it is empty")});
  EXPECT_EQ(Order(), (std::vector<BatchKey>{{0, 10}}));
  stock_.pool().ReleaseAll(kHolder);
  EXPECT_EQ(Order(), (std::vector<BatchKey>{{0, 0}}));
  ASSERT_NE(stock_.Find({0, 20}), nullptr);
}

TEST_F(StockTest, FailuresThatNobodyComesToAreDropped) {
  stock_.Put({.key = {0, 0}, .status = absl::DataLossError("it is empty")});
  stock_.Put({.key = {0, 10}, .status = absl::DataLossError("it is empty")});
  stock_.DropFailures(
      [](const BatchKey& key) { return key.first_sample == 10; });
  EXPECT_EQ(stock_.Find({0, 0}), nullptr);
  EXPECT_NE(stock_.Find({0, 10}), nullptr);
}

TEST_F(StockTest, AForgottenEpochIsNotFoundAndItsSlotsAreUsedAgain) {
  ASSERT_TRUE(stock_.Pay(4).ok());
  GrowAll(/*spare=*/false);
  const std::uint32_t leased = Put({3, 0});
  Put({3, 10});
  Put({4, 0});
  ASSERT_TRUE(stock_.pool().Lease(leased, kHolder));
  stock_.Put({.key = {3, 20}, .status = absl::DataLossError("it is empty")});
  stock_.Forget(3);
  for (const std::uint64_t first : {0, 10, 20})
    EXPECT_EQ(stock_.Find({3, first}), nullptr) << first;
  EXPECT_NE(stock_.Find({4, 0}), nullptr);
  // The same epoch once more, and it is forgotten again.
  Put({3, 0});
  stock_.Forget(3);
  EXPECT_EQ(stock_.Find({3, 0}), nullptr);
  stock_.pool().ReleaseAll(kHolder);
  EXPECT_EQ(Order().size(), 4) << "nothing is lost";
  EXPECT_EQ(stock_.pool().Counts().free, 4);
}

TEST_F(StockTest, TrimStopsAtWhatIsLeased) {
  ASSERT_TRUE(stock_.Pay(1).ok());
  ASSERT_EQ(GrowAll(/*spare=*/true), 10);
  std::vector<std::uint32_t> slots;
  for (std::uint64_t i = 0; i < 10; ++i) slots.push_back(Put({0, i}));
  const auto leased = static_cast<std::uint32_t>(
      std::find(slots.begin(), slots.end(), 5) - slots.begin());
  ASSERT_TRUE(stock_.pool().Lease(5, kHolder));
  stock_.Trim();
  EXPECT_EQ(stock_.pool().slots(), 6);
  EXPECT_NE(stock_.Find({0, leased}), nullptr);
  EXPECT_EQ(budget_.used(), 6 * kSlot);
  stock_.pool().ReleaseAll(kHolder);
  stock_.Trim();
  EXPECT_EQ(stock_.pool().slots(), 1) << "as many as are paid for";
  stock_.EndPay(1);
  EXPECT_EQ(stock_.Clear().slots(), 1);
  EXPECT_EQ(budget_.used(), 0);
}

}  // namespace
}  // namespace forebay::stream
