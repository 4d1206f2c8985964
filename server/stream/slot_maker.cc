#include "server/stream/slot_maker.h"

#include <iterator>

#include "server/base/status.h"
#include "server/device/staging_memory.h"

namespace forebay::stream {

absl::Status SlotMaker::AddFirstSlots(std::uint32_t slots) {
  std::vector<DevicePtr> devices;
  {
    base::MutexLock lock(mutex_);
    if (batch_cache_->pool().slots() > 0) return absl::OkStatus();
    devices = batch_cache_->memory().attached();
  }
  // Several members may do this at once: only the first one's slots count.
  FOREBAY_ASSIGN_OR_RETURN(std::vector<SlotParts> made,
                           SlotMemory::Make(slots, size_, devices, producers_));
  base::MutexLock lock(mutex_);
  batch_cache_->AddFirst(&made);
  return absl::OkStatus();
}

absl::Status SlotMaker::PrepareDevice(const DevicePtr& device) {
  FOREBAY_RETURN_IF_ERROR(device->ForJobs(device->copier().health()));
  std::uint32_t missing;
  {
    base::MutexLock lock(mutex_);
    missing = staging_->missing();
  }
  std::vector<StagingPool::Memory> staging;
  while (staging.size() < missing) {
    FOREBAY_ASSIGN_OR_RETURN(StagingPool::Memory memory,
                             MakeStagingBy(*device));
    staging.push_back(std::move(memory));
  }
  {
    base::MutexLock lock(mutex_);
    staging_->Add(&staging);
  }
  return AttachDevice(device);
}

absl::StatusOr<std::vector<SlotParts>> SlotMaker::MakeSlot() const {
  return SlotMemory::Make(1, size_, AttachedDevices(), producers_);
}

std::vector<StagingPool::Memory> SlotMaker::MakeStaging() const {
  std::vector<StagingPool::Memory> made;
  for (const DevicePtr& device : AttachedDevices()) {
    if (!made.empty() || !device->copier().health().ok()) continue;
    auto memory = MakeStagingBy(*device);
    if (memory.ok()) made.push_back(*std::move(memory));
  }
  return made;
}

std::vector<DevicePtr> SlotMaker::AttachedDevices() const {
  base::MutexLock lock(mutex_);
  return batch_cache_->memory().attached();
}

absl::StatusOr<StagingPool::Memory> SlotMaker::MakeStagingBy(
    device::Device& device) const {
  device::StagingMemory::Share share;
  if (producers_stage_) {
    share = [producers = producers_](int fd, const std::uint8_t* data,
                                     std::uint64_t bytes) {
      return producer::ProducerSet::Share(producers, fd, data, bytes);
    };
  }
  return device.MakeStaging(size_.device, share);
}

absl::Status SlotMaker::AttachDevice(const DevicePtr& device) {
  std::vector<DevicePart> parts;
  for (;;) {
    std::uint32_t slots;
    {
      base::MutexLock lock(mutex_);
      SlotMemory& memory = batch_cache_->memory();
      // Another member may have done it meanwhile, and slots come or go.
      slots = memory.slots();
      if (!memory.IsAttached(device.get()) && parts.size() == slots)
        memory.Attach(device.get(), std::exchange(parts, {}));
      if (memory.IsAttached(device.get())) {
        batch_cache_->ForgetUnlessOn(device.get());
        return absl::OkStatus();
      }
    }
    if (parts.size() > slots) parts.resize(slots);
    FOREBAY_ASSIGN_OR_RETURN(
        std::vector<DevicePart> more,
        SlotMemory::MakeParts(slots - static_cast<std::uint32_t>(parts.size()),
                              size_, *device));
    std::move(more.begin(), more.end(), std::back_inserter(parts));
  }
}

}  // namespace forebay::stream
