#include "server/stream/batch_cache.h"

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
constexpr arena::MemberId kHolder = 1;

class BatchCacheTest : public ::testing::Test {
 protected:
  // Makes one slot, as the stream does after Grow has returned true.
  void Make() {
    auto made = SlotMemory::Make(1, {.host = kSlot, .device = 0}, {});
    ASSERT_TRUE(made.ok()) << made.status();
    batch_cache_.Grown(&*made);
  }
  // Adds slots until Grow refuses. Returns how many.
  std::uint32_t GrowAll(bool spare) {
    std::uint32_t grown = 0;
    for (; batch_cache_.Grow(spare); ++grown) Make();
    return grown;
  }
  std::uint32_t Put(const BatchKey& key) {
    const auto slot = batch_cache_.Take();
    EXPECT_TRUE(slot.has_value());
    batch_cache_.Put({.key = key, .slot = *slot, .samples = 1, .bytes = 1});
    return *slot;
  }
  // Evicts all batches, and returns them in that order. `wanted`: when each
  // batch is wanted; the others never are.
  std::vector<BatchKey> Order(
      const std::map<BatchKey, std::int64_t>& wanted = {}) {
    std::vector<BatchKey> order;
    while (const CompletedBatch* const victim =
               batch_cache_.Victim([&](const BatchKey& key) {
                 const auto found = wanted.find(key);
                 return found == wanted.end() ? cache::kNever : found->second;
               })) {
      order.push_back(victim->key);
      batch_cache_.Evict(*victim);
    }
    return order;
  }

  base::MemoryBudget budget_{20 * kSlot};
  BatchCache batch_cache_{&budget_, {.host = kSlot, .device = 0}};
};

TEST_F(BatchCacheTest, PayReservesAndEndPayGivesBack) {
  ASSERT_TRUE(batch_cache_.Pay(4).ok());
  ASSERT_TRUE(batch_cache_.Pay(3).ok());
  EXPECT_EQ(budget_.used(), 7 * kSlot);
  EXPECT_TRUE(absl::IsResourceExhausted(batch_cache_.Pay(14)));
  EXPECT_EQ(budget_.used(), 7 * kSlot);
  batch_cache_.EndPay(4);
  EXPECT_EQ(budget_.used(), 3 * kSlot);
  batch_cache_.EndPay(3);
  EXPECT_EQ(budget_.used(), 0);
}

TEST_F(BatchCacheTest, MayKeepItsFirstSlotsAlone) {
  BatchCache fixed(&budget_, {.host = kSlot, .device = 0}, /*grows=*/false);
  ASSERT_TRUE(fixed.Pay(4).ok());
  EXPECT_FALSE(fixed.Grow(/*spare=*/false));
  EXPECT_FALSE(fixed.Grow(/*spare=*/true));
}

// Slots stay reserved when the members that paid for them are gone. The next
// member pays only for slots that do not exist yet.
TEST_F(BatchCacheTest, SlotsThatAreThereStayReserved) {
  ASSERT_TRUE(batch_cache_.Pay(4).ok());
  EXPECT_EQ(GrowAll(/*spare=*/false), 4);
  batch_cache_.EndPay(4);
  EXPECT_EQ(budget_.used(), 4 * kSlot);
  ASSERT_TRUE(batch_cache_.Pay(3).ok());
  EXPECT_EQ(budget_.used(), 4 * kSlot);
  batch_cache_.Trim();
  EXPECT_EQ(budget_.used(), 3 * kSlot);
  EXPECT_EQ(batch_cache_.pool().slots(), 3);
}

TEST_F(BatchCacheTest, GrowsAsFarAsIsPaidFor) {
  EXPECT_FALSE(batch_cache_.Grow(/*spare=*/false));
  ASSERT_TRUE(batch_cache_.Pay(2).ok());
  EXPECT_TRUE(batch_cache_.Grow(/*spare=*/false));
  EXPECT_TRUE(batch_cache_.Grow(/*spare=*/false));
  EXPECT_EQ(batch_cache_.growing(), 2);
  EXPECT_FALSE(batch_cache_.Grow(/*spare=*/false))
      << "those in the making count";
  Make();
  Make();
  EXPECT_EQ(batch_cache_.growing(), 0);
  EXPECT_EQ(batch_cache_.pool().slots(), 2);
}

// A stream cannot give back slots that its members know, so it leaves memory
// for streams that open later.
TEST_F(BatchCacheTest, WhatIsSpareLeavesHalfToOthers) {
  ASSERT_TRUE(batch_cache_.Pay(4).ok());
  EXPECT_EQ(GrowAll(/*spare=*/true), 4 + 8);
  BatchCache other(&budget_, {.host = kSlot, .device = 0});
  EXPECT_TRUE(other.Pay(8).ok());
}

TEST_F(BatchCacheTest, ASlotThatCannotBeMadeIsTriedAgainWhenToldSo) {
  ASSERT_TRUE(batch_cache_.Pay(1).ok());
  ASSERT_TRUE(batch_cache_.Grow(/*spare=*/true));
  ASSERT_TRUE(batch_cache_.Grow(/*spare=*/true));
  EXPECT_EQ(budget_.used(), 2 * kSlot);
  batch_cache_.NotGrown();
  batch_cache_.NotGrown();
  EXPECT_EQ(budget_.used(), kSlot);
  EXPECT_FALSE(batch_cache_.Grow(/*spare=*/true));
  batch_cache_.TryAgain();
  EXPECT_TRUE(batch_cache_.Grow(/*spare=*/true));
}

TEST_F(BatchCacheTest, NeverHasMoreSlotsThanClientsKnow) {
  base::MemoryBudget plenty(10'000 * kSlot);
  BatchCache batch_cache(&plenty, {.host = kSlot, .device = 0});
  std::uint32_t slots = 0;
  while (batch_cache.Grow(/*spare=*/true)) ++slots;
  EXPECT_EQ(slots, proto::kMaxSlots);
  while (batch_cache.growing() > 0) batch_cache.NotGrown();
  EXPECT_EQ(plenty.used(), 0);
}

TEST_F(BatchCacheTest, WhatIsWantedLastGoesFirst) {
  ASSERT_TRUE(batch_cache_.Pay(3).ok());
  GrowAll(/*spare=*/false);
  for (const std::uint64_t first : {0, 10, 20}) Put({1, first});
  EXPECT_EQ(Order({{{1, 0}, 5}, {{1, 10}, 7}, {{1, 20}, 6}}),
            (std::vector<BatchKey>{{1, 10}, {1, 20}, {1, 0}}));
}

// A member that starts an epoch first needs the batches that are kept longest.
TEST_F(BatchCacheTest, OfWhatNobodyWantsTheFirstOfTheNewestEpochStays) {
  ASSERT_TRUE(batch_cache_.Pay(5).ok());
  GrowAll(/*spare=*/false);
  for (const BatchKey key : {BatchKey{2, 10}, {1, 0}, {2, 0}, {1, 10}, {2, 20}})
    Put(key);
  EXPECT_EQ(Order({{{1, 10}, 99}}),
            (std::vector<BatchKey>{{1, 0}, {2, 20}, {2, 10}, {2, 0}, {1, 10}}));
}

TEST_F(BatchCacheTest, NeitherTheLeasedNorFailuresAreVictims) {
  ASSERT_TRUE(batch_cache_.Pay(2).ok());
  GrowAll(/*spare=*/false);
  const std::uint32_t leased = Put({0, 0});
  Put({0, 10});
  ASSERT_TRUE(batch_cache_.pool().Lease(leased, kHolder));
  batch_cache_.Put(
      {.key = {0, 20}, .status = absl::DataLossError("it is empty")});
  EXPECT_EQ(Order(), (std::vector<BatchKey>{{0, 10}}));
  batch_cache_.pool().ReleaseAll(kHolder);
  EXPECT_EQ(Order(), (std::vector<BatchKey>{{0, 0}}));
  ASSERT_NE(batch_cache_.Find({0, 20}), nullptr);
}

TEST_F(BatchCacheTest, FailuresThatNobodyComesToAreDropped) {
  batch_cache_.Put(
      {.key = {0, 0}, .status = absl::DataLossError("it is empty")});
  batch_cache_.Put(
      {.key = {0, 10}, .status = absl::DataLossError("it is empty")});
  batch_cache_.DropFailures(
      [](const BatchKey& key) { return key.first_sample == 10; });
  EXPECT_EQ(batch_cache_.Find({0, 0}), nullptr);
  EXPECT_NE(batch_cache_.Find({0, 10}), nullptr);
}

TEST_F(BatchCacheTest, AForgottenEpochIsNotFoundAndItsSlotsAreUsedAgain) {
  ASSERT_TRUE(batch_cache_.Pay(4).ok());
  GrowAll(/*spare=*/false);
  const std::uint32_t leased = Put({3, 0});
  Put({3, 10});
  Put({4, 0});
  ASSERT_TRUE(batch_cache_.pool().Lease(leased, kHolder));
  batch_cache_.Put(
      {.key = {3, 20}, .status = absl::DataLossError("it is empty")});
  batch_cache_.Forget(3);
  for (const std::uint64_t first : {0, 10, 20})
    EXPECT_EQ(batch_cache_.Find({3, first}), nullptr) << first;
  EXPECT_NE(batch_cache_.Find({4, 0}), nullptr);
  // A batch of the same epoch is put once more, and forgotten again.
  Put({3, 0});
  batch_cache_.Forget(3);
  EXPECT_EQ(batch_cache_.Find({3, 0}), nullptr);
  batch_cache_.pool().ReleaseAll(kHolder);
  EXPECT_EQ(Order().size(), 4) << "nothing is lost";
  EXPECT_EQ(batch_cache_.pool().Counts().free, 4);
}

TEST_F(BatchCacheTest, TrimStopsAtWhatIsLeased) {
  ASSERT_TRUE(batch_cache_.Pay(1).ok());
  ASSERT_EQ(GrowAll(/*spare=*/true), 10);
  std::vector<std::uint32_t> slots;
  for (std::uint64_t i = 0; i < 10; ++i) slots.push_back(Put({0, i}));
  const auto leased = static_cast<std::uint32_t>(
      std::find(slots.begin(), slots.end(), 5) - slots.begin());
  ASSERT_TRUE(batch_cache_.pool().Lease(5, kHolder));
  batch_cache_.Trim();
  EXPECT_EQ(batch_cache_.pool().slots(), 6);
  EXPECT_NE(batch_cache_.Find({0, leased}), nullptr);
  EXPECT_EQ(budget_.used(), 6 * kSlot);
  batch_cache_.pool().ReleaseAll(kHolder);
  batch_cache_.Trim();
  EXPECT_EQ(batch_cache_.pool().slots(), 1) << "as many as are paid for";
  batch_cache_.EndPay(1);
  EXPECT_EQ(batch_cache_.Clear().size(), 1);
  EXPECT_EQ(budget_.used(), 0);
}

}  // namespace
}  // namespace forebay::stream
