#include "server/stream/published_slot.h"

#include <cstdint>

#include "server/base/memory_budget.h"
#include "server/cache/next_use.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kSlot = 4096;

TEST_CASE("A published slot is not evicted until its lease ends",
          "[stream][published_slot]") {
  base::MemoryBudget budget(kSlot);
  BatchCache batch_cache(&budget, {.host = kSlot, .device = 0});
  const BatchKey key{.epoch = 1, .first_sample = 10};
  CHECK_THAT(PublishedSlot::Lease(key, &batch_cache),
             HasCode(absl::StatusCode::kUnavailable));
  REQUIRE_THAT(batch_cache.Pay(1), IsOk());
  REQUIRE(batch_cache.Grow(/*spare=*/false));
  auto made = SlotMemory::Make(1, {.host = kSlot, .device = 0}, {});
  REQUIRE_THAT(made, IsOk());
  batch_cache.Grown(&*made);
  const std::uint32_t slot = *batch_cache.Take();
  batch_cache.Put({.key = key, .slot = slot, .samples = 1, .bytes = 1});
  const auto never = [](const BatchKey&) { return cache::kNever; };
  CHECK(batch_cache.Victim(never) != nullptr);
  const auto leased = PublishedSlot::Lease(key, &batch_cache);
  REQUIRE_THAT(leased, IsOk());
  CHECK(leased->source().host == batch_cache.memory().host(slot).data());
  CHECK(leased->source().device == nullptr);
  CHECK(batch_cache.Victim(never) == nullptr);
  leased->Release(&batch_cache);
  CHECK(batch_cache.Victim(never) != nullptr);
}

TEST_CASE("The slot of a batch that failed cannot be leased",
          "[stream][published_slot]") {
  base::MemoryBudget budget(kSlot);
  BatchCache batch_cache(&budget, {.host = kSlot, .device = 0});
  const BatchKey key{.epoch = 1, .first_sample = 10};
  batch_cache.Put({.key = key, .status = absl::DataLossError("no image")});
  CHECK_THAT(PublishedSlot::Lease(key, &batch_cache),
             HasCode(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace forebay::stream
