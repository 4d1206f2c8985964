#include "server/stream/batch_cache.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "proto/shm_ring.h"
#include "server/cache/next_use.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kSlot = 4096;
constexpr slots::MemberId kHolder = 1;

class BatchCacheTest {
 protected:
  // Makes one slot, as the stream does when Grow() has returned true.
  void Make() {
    auto made = SlotMemory::Make(1, {.host = kSlot, .device = 0}, {});
    REQUIRE_THAT(made, IsOk());
    batch_cache_.Grown(&*made);
  }
  // Adds slots until Grow() refuses. Returns how many it added.
  std::uint32_t GrowAll(bool spare) {
    std::uint32_t grown = 0;
    for (; batch_cache_.Grow(spare); ++grown) Make();
    return grown;
  }
  std::uint32_t Put(const BatchKey& key) {
    const auto slot = batch_cache_.Take();
    CHECK(slot.has_value());
    batch_cache_.Put({.key = key, .slot = *slot, .samples = 1, .bytes = 1});
    return *slot;
  }
  // Evicts all batches, and returns them in the order of eviction. `wanted`
  // tells in how many nanoseconds a batch is wanted. Other batches are never
  // wanted.
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

TEST_CASE_METHOD(
    BatchCacheTest,
    "Pay reserves the memory of batch slots and EndPay gives it back",
    "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(4), IsOk());
  REQUIRE_THAT(batch_cache_.Pay(3), IsOk());
  CHECK(budget_.used() == 7 * kSlot);
  CHECK_THAT(batch_cache_.Pay(14),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget_.used() == 7 * kSlot);
  batch_cache_.EndPay(4);
  CHECK(budget_.used() == 3 * kSlot);
  batch_cache_.EndPay(3);
  CHECK(budget_.used() == 0);
}

TEST_CASE_METHOD(BatchCacheTest,
                 "A batch cache that does not grow keeps its first slots alone",
                 "[stream][batch_cache]") {
  BatchCache fixed(&budget_, {.host = kSlot, .device = 0}, /*grows=*/false);
  REQUIRE_THAT(fixed.Pay(4), IsOk());
  CHECK_FALSE(fixed.Grow(/*spare=*/false));
  CHECK_FALSE(fixed.Grow(/*spare=*/true));
}

// Slots stay reserved after the members that paid for them have gone. The next
// member pays only for additional slots.
TEST_CASE_METHOD(
    BatchCacheTest,
    "Batch slots that are there stay reserved when their payers are gone",
    "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(4), IsOk());
  CHECK(GrowAll(/*spare=*/false) == 4);
  batch_cache_.EndPay(4);
  CHECK(budget_.used() == 4 * kSlot);
  REQUIRE_THAT(batch_cache_.Pay(3), IsOk());
  CHECK(budget_.used() == 4 * kSlot);
  batch_cache_.Trim();
  CHECK(budget_.used() == 3 * kSlot);
  CHECK(batch_cache_.pool().slots() == 3);
}

TEST_CASE_METHOD(BatchCacheTest, "A batch cache grows as far as is paid for",
                 "[stream][batch_cache]") {
  CHECK_FALSE(batch_cache_.Grow(/*spare=*/false));
  REQUIRE_THAT(batch_cache_.Pay(2), IsOk());
  CHECK(batch_cache_.Grow(/*spare=*/false));
  CHECK(batch_cache_.Grow(/*spare=*/false));
  CHECK(batch_cache_.growing() == 2);
  UNSCOPED_INFO("those in the making count");
  CHECK_FALSE(batch_cache_.Grow(/*spare=*/false));
  Make();
  Make();
  CHECK(batch_cache_.growing() == 0);
  CHECK(batch_cache_.pool().slots() == 2);
}

// A stream cannot return slots that its members have mapped, so it leaves
// memory for streams that open later.
TEST_CASE_METHOD(BatchCacheTest,
                 "Spare batch slots leave half of the free memory to others",
                 "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(4), IsOk());
  CHECK(GrowAll(/*spare=*/true) == 4 + 8);
  BatchCache other(&budget_, {.host = kSlot, .device = 0});
  CHECK_THAT(other.Pay(8), IsOk());
}

TEST_CASE_METHOD(
    BatchCacheTest,
    "A batch slot that cannot be made is tried again when the cache is told so",
    "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(1), IsOk());
  REQUIRE(batch_cache_.Grow(/*spare=*/true));
  REQUIRE(batch_cache_.Grow(/*spare=*/true));
  CHECK(budget_.used() == 2 * kSlot);
  batch_cache_.NotGrown();
  batch_cache_.NotGrown();
  CHECK(budget_.used() == kSlot);
  CHECK_FALSE(batch_cache_.Grow(/*spare=*/true));
  batch_cache_.TryAgain();
  CHECK(batch_cache_.Grow(/*spare=*/true));
}

TEST_CASE_METHOD(BatchCacheTest,
                 "A batch cache never has more slots than clients know",
                 "[stream][batch_cache]") {
  base::MemoryBudget plenty(10'000 * kSlot);
  BatchCache batch_cache(&plenty, {.host = kSlot, .device = 0});
  std::uint32_t slots = 0;
  while (batch_cache.Grow(/*spare=*/true)) ++slots;
  CHECK(slots == proto::kMaxSlots);
  while (batch_cache.growing() > 0) batch_cache.NotGrown();
  CHECK(plenty.used() == 0);
}

TEST_CASE_METHOD(BatchCacheTest,
                 "The batch that is wanted last goes first from a batch cache",
                 "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(3), IsOk());
  GrowAll(/*spare=*/false);
  for (const std::uint64_t first : {0, 10, 20}) Put({1, first});
  CHECK(Order({{{1, 0}, 5}, {{1, 10}, 7}, {{1, 20}, 6}}) ==
        std::vector<BatchKey>{{1, 10}, {1, 20}, {1, 0}});
}

// The batches that are kept longest are those that a member needs first when it
// starts an epoch.
TEST_CASE_METHOD(BatchCacheTest,
                 "Among batches that nobody wants the first of the newest "
                 "epoch stays longest",
                 "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(5), IsOk());
  GrowAll(/*spare=*/false);
  for (const BatchKey key : {BatchKey{2, 10}, {1, 0}, {2, 0}, {1, 10}, {2, 20}})
    Put(key);
  CHECK(Order({{{1, 10}, 99}}) ==
        std::vector<BatchKey>{{1, 0}, {2, 20}, {2, 10}, {2, 0}, {1, 10}});
}

TEST_CASE_METHOD(
    BatchCacheTest,
    "Neither leased batches nor failures are victims of a batch cache",
    "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(2), IsOk());
  GrowAll(/*spare=*/false);
  const std::uint32_t leased = Put({0, 0});
  Put({0, 10});
  REQUIRE(batch_cache_.pool().Lease(leased, kHolder));
  batch_cache_.Put(
      {.key = {0, 20}, .status = absl::DataLossError("it is empty")});
  CHECK(Order() == std::vector<BatchKey>{{0, 10}});
  batch_cache_.pool().ReleaseAll(kHolder);
  CHECK(Order() == std::vector<BatchKey>{{0, 0}});
  REQUIRE(batch_cache_.Find({0, 20}) != nullptr);
}

TEST_CASE_METHOD(BatchCacheTest,
                 "A batch cache drops failures that nobody comes to",
                 "[stream][batch_cache]") {
  batch_cache_.Put(
      {.key = {0, 0}, .status = absl::DataLossError("it is empty")});
  batch_cache_.Put(
      {.key = {0, 10}, .status = absl::DataLossError("it is empty")});
  batch_cache_.DropFailures(
      [](const BatchKey& key) { return key.first_sample == 10; });
  CHECK(batch_cache_.Find({0, 0}) == nullptr);
  CHECK(batch_cache_.Find({0, 10}) != nullptr);
}

TEST_CASE_METHOD(BatchCacheTest,
                 "A forgotten epoch is not found in a batch cache and its "
                 "slots are used again",
                 "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(4), IsOk());
  GrowAll(/*spare=*/false);
  const std::uint32_t leased = Put({3, 0});
  Put({3, 10});
  Put({4, 0});
  REQUIRE(batch_cache_.pool().Lease(leased, kHolder));
  batch_cache_.Put(
      {.key = {3, 20}, .status = absl::DataLossError("it is empty")});
  batch_cache_.Forget(3);
  for (const std::uint64_t first : {0, 10, 20}) {
    CAPTURE(first);
    CHECK(batch_cache_.Find({3, first}) == nullptr);
  }
  CHECK(batch_cache_.Find({4, 0}) != nullptr);
  // A batch of the same epoch is put again, and forgotten again.
  Put({3, 0});
  batch_cache_.Forget(3);
  CHECK(batch_cache_.Find({3, 0}) == nullptr);
  batch_cache_.pool().ReleaseAll(kHolder);
  UNSCOPED_INFO("nothing is lost");
  CHECK(Order().size() == 4);
  CHECK(batch_cache_.pool().Counts().free == 4);
}

TEST_CASE_METHOD(BatchCacheTest,
                 "The trim of a batch cache stops at slots that are leased",
                 "[stream][batch_cache]") {
  REQUIRE_THAT(batch_cache_.Pay(1), IsOk());
  REQUIRE(GrowAll(/*spare=*/true) == 10);
  std::vector<std::uint32_t> slots;
  for (std::uint64_t i = 0; i < 10; ++i) slots.push_back(Put({0, i}));
  const auto leased = static_cast<std::uint32_t>(
      std::find(slots.begin(), slots.end(), 5) - slots.begin());
  REQUIRE(batch_cache_.pool().Lease(5, kHolder));
  batch_cache_.Trim();
  CHECK(batch_cache_.pool().slots() == 6);
  CHECK(batch_cache_.Find({0, leased}) != nullptr);
  CHECK(budget_.used() == 6 * kSlot);
  batch_cache_.pool().ReleaseAll(kHolder);
  batch_cache_.Trim();
  UNSCOPED_INFO("as many as are paid for");
  CHECK(batch_cache_.pool().slots() == 1);
  batch_cache_.EndPay(1);
  CHECK(batch_cache_.Clear().size() == 1);
  CHECK(budget_.used() == 0);
}

}  // namespace
}  // namespace forebay::stream
