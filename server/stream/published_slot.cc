#include "server/stream/published_slot.h"

#include "absl/status/status.h"
#include "server/slots/slot_pool.h"

namespace forebay::stream {
namespace {

// The holder of the lease. Members count from 1.
constexpr slots::MemberId kHolder = 0;

}  // namespace

absl::StatusOr<PublishedSlot> PublishedSlot::Lease(const BatchKey& key,
                                                   BatchCache* batch_cache) {
  const CompletedBatch* const batch = batch_cache->Find(key);
  const SlotMemory& memory = batch_cache->memory();
  SlotSource source;
  for (const DevicePtr& device : memory.attached()) {
    if (batch == nullptr || !batch->StatusOn(device.get()).ok()) continue;
    source.device = device;
    source.part = memory.part(device.get(), batch->slot);
  }
  if (batch == nullptr || !batch->status.ok() ||
      (memory.size().device > 0 && source.device == nullptr))
    return absl::UnavailableError("no batch to see just now: try again");
  const std::uint32_t slot = batch->slot;
  batch_cache->pool().Lease(slot, kHolder);
  source.host = memory.host(slot).data();
  return PublishedSlot(slot, batch_cache->pool().generation(slot),
                       std::move(source));
}

void PublishedSlot::Release(BatchCache* batch_cache) const {
  batch_cache->pool().Release(slot_, generation_, kHolder);
}

}  // namespace forebay::stream
