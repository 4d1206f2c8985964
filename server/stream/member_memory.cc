#include "server/stream/member_memory.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

absl::Status MemberMemory::Join(const Member::Terms& terms) {
  absl::Status joined = batch_cache_->Pay(terms.slots);
  if (!joined.ok()) return joined;
  joined = staging_->Pay(terms.slots);
  if (joined.ok()) {
    if (terms.device != nullptr)
      joined = batch_cache_->memory().Join(terms.device);
    if (joined.ok()) return joined;
    staging_->EndPay(terms.slots);
  }
  batch_cache_->EndPay(terms.slots);
  return joined;
}

void MemberMemory::CancelJoin(const Member::Terms& terms) {
  if (terms.device != nullptr) batch_cache_->memory().Leave(terms.device.get());
  staging_->EndPay(terms.slots);
  batch_cache_->EndPay(terms.slots);
}

void MemberMemory::Leave(const Member::Terms& terms, FreedMemory* freed) {
  batch_cache_->EndPay(terms.slots);
  staging_->EndPay(terms.slots);
  if (terms.device != nullptr) LeaveDevice(*terms.device, freed);
}

void MemberMemory::LeaveDevice(const device::Device& device,
                               FreedMemory* freed) {
  freed->device_parts = batch_cache_->memory().Leave(&device);
  if (freed->device_parts.empty()) return;
  batch_cache_->ForgetCopiesOn(&device);
  in_flight_->ForgetCopiesOn(&device);
  // Memory that was pinned by the GPU keeps it open.
  for (StagingPool::Memory& removed :
       staging_->RemovePinnedBy(device.gpu().get()))
    freed->staging.push_back(std::move(removed));
}

void MemberMemory::PayForHeld(Member* member) {
  const std::uint32_t ended =
      member->PayAtMost(batch_cache_->pool().Leases(member->id()));
  batch_cache_->EndPay(ended);
  staging_->EndPay(ended);
}

std::uint32_t MemberMemory::GrowFirst(const MemberSet& members) {
  const auto runs = [](const auto& member) {
    return member->cursor().running();
  };
  const auto member = std::find_if(members.begin(), members.end(), runs);
  if (member == members.end()) return 0;
  const std::uint32_t slots = (*member)->terms().slots;
  std::vector<const device::Device*> devices;
  for (const auto& one : members)
    if (runs(one)) devices.push_back(one->device());
  return batch_cache_->GrowFirst(slots, devices) ? slots : 0;
}

void MemberMemory::Trim(FreedMemory* freed) {
  freed->slots = batch_cache_->Trim();
  if (batch_cache_->keeps()) return;
  for (StagingPool::Memory& removed : staging_->Trim(/*all=*/false))
    freed->staging.push_back(std::move(removed));
}

void MemberMemory::Clear(FreedMemory* freed) {
  freed->slots = batch_cache_->Clear();
  freed->staging = staging_->Trim(/*all=*/true);
}

void MemberMemory::TakeBack(base::MemoryReservation lent, bool is_slot) {
  if (is_slot) {
    batch_cache_->TakeBack(std::move(lent));
  } else {
    staging_->TakeBack(std::move(lent));
  }
}

void MemberMemory::TryAgain() {
  batch_cache_->TryAgain();
  staging_->TryAgain();
}

}  // namespace forebay::stream
