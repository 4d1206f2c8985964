#include "server/arena/slot_pool.h"

#include <algorithm>
#include <future>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::arena {

absl::StatusOr<SlotPool> SlotPool::Create(std::uint32_t slots,
                                          std::uint64_t slot_bytes) {
  // Clearing so many pages takes a core tens of milliseconds a slot, and a
  // trainer waits for its first batch: all at once, or one after the other
  // where there are no threads to be had.
  std::vector<std::future<absl::StatusOr<SharedMemory>>> making;
  making.reserve(slots);
  for (std::uint32_t i = 0; i < slots; ++i) {
    making.push_back(
        std::async(std::launch::async | std::launch::deferred, [slot_bytes] {
          return SharedMemory::Create("forebay-slot", slot_bytes,
                                      ClientAccess::kRead);
        }));
  }
  std::vector<Slot> made;
  made.reserve(slots);
  for (auto& memory : making) {
    FOREBAY_ASSIGN_OR_RETURN(auto created, memory.get());
    made.push_back(Slot{.memory = std::move(created), .holders = {}});
  }
  return SlotPool(std::move(made), slot_bytes);
}

SlotCounts SlotPool::Counts() const {
  SlotCounts counts;
  for (const Slot& slot : slots_) {
    counts.free += slot.state == State::kFree;
    counts.filling += slot.state == State::kFilling;
    counts.published += slot.state == State::kPublished;
  }
  return counts;
}

std::optional<std::uint32_t> SlotPool::Take() {
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(),
                   [](const Slot& s) { return s.state == State::kFree; });
  if (slot == slots_.end()) return std::nullopt;
  slot->state = State::kFilling;
  ++slot->generation;
  return static_cast<std::uint32_t>(slot - slots_.begin());
}

void SlotPool::Abandon(std::uint32_t slot) {
  FOREBAY_CHECK(slots_[slot].state == State::kFilling);
  slots_[slot].state = State::kFree;
}

void SlotPool::Publish(std::uint32_t slot, absl::Span<const Holder> holders) {
  FOREBAY_CHECK(slots_[slot].state == State::kFilling);
  FOREBAY_CHECK(!holders.empty());
  slots_[slot].state = State::kPublished;
  slots_[slot].holders.assign(holders.begin(), holders.end());
}

bool SlotPool::AddLease(std::uint32_t slot, Holder holder) {
  if (slots_[slot].state != State::kPublished) return false;
  slots_[slot].holders.push_back(holder);
  return true;
}

bool SlotPool::Release(std::uint32_t slot, std::uint32_t generation,
                       Holder holder) {
  if (slot >= slots_.size()) return false;
  if (slots_[slot].generation != generation) return false;
  return EndLease(slots_[slot], holder);
}

void SlotPool::ReleaseAll(Holder holder) {
  for (Slot& slot : slots_) {
    while (EndLease(slot, holder)) {
    }
  }
}

bool SlotPool::EndLease(Slot& slot, Holder holder) {
  if (slot.state != State::kPublished) return false;
  const auto lease =
      std::find(slot.holders.begin(), slot.holders.end(), holder);
  if (lease == slot.holders.end()) return false;
  slot.holders.erase(lease);
  if (slot.holders.empty()) slot.state = State::kFree;
  return true;
}

bool SlotPool::HasLeases(Holder holder) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.state == State::kPublished &&
           std::find(slot.holders.begin(), slot.holders.end(), holder) !=
               slot.holders.end();
  });
}

}  // namespace forebay::arena
