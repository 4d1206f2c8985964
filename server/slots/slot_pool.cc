#include "server/slots/slot_pool.h"

#include <algorithm>

#include "server/base/check.h"

namespace forebay::slots {

bool SlotPool::RemoveLast() {
  if (slots_.empty() || slots_.back().state != State::kFree) return false;
  slots_.pop_back();
  return true;
}

SlotCounts SlotPool::Counts() const {
  SlotCounts counts;
  for (const Slot& slot : slots_) {
    counts.free += slot.state == State::kFree;
    counts.filling += slot.state == State::kFilling;
    if (slot.state != State::kFinished) continue;
    ++(slot.holders.empty() ? counts.kept : counts.leased);
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

void SlotPool::Finish(std::uint32_t slot) {
  FOREBAY_CHECK(slots_[slot].state == State::kFilling);
  slots_[slot].state = State::kFinished;
}

void SlotPool::Free(std::uint32_t slot) {
  FOREBAY_CHECK(slots_[slot].state == State::kFinished);
  FOREBAY_CHECK(slots_[slot].holders.empty());
  slots_[slot].state = State::kFree;
}

bool SlotPool::Lease(std::uint32_t slot, MemberId member) {
  if (slots_[slot].state != State::kFinished) return false;
  slots_[slot].holders.push_back(member);
  return true;
}

bool SlotPool::Release(std::uint32_t slot, std::uint32_t generation,
                       MemberId member) {
  if (slot >= slots_.size()) return false;
  if (slots_[slot].generation != generation) return false;
  return EndLease(slots_[slot], member);
}

void SlotPool::ReleaseAll(MemberId member) {
  for (Slot& slot : slots_) std::erase(slot.holders, member);
}

bool SlotPool::EndLease(Slot& slot, MemberId member) {
  const auto lease =
      std::find(slot.holders.begin(), slot.holders.end(), member);
  if (lease == slot.holders.end()) return false;
  slot.holders.erase(lease);
  return true;
}

std::uint32_t SlotPool::Leases(MemberId member) const {
  std::uint32_t leases = 0;
  for (const Slot& slot : slots_) {
    leases += static_cast<std::uint32_t>(
        std::count(slot.holders.begin(), slot.holders.end(), member));
  }
  return leases;
}

}  // namespace forebay::slots
