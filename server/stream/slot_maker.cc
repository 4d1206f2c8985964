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
                           SlotMemory::Make(slots, size_, devices));
  FOREBAY_RETURN_IF_ERROR(SlotMemory::Seal(made));
  base::MutexLock lock(mutex_);
  batch_cache_->AddFirst(&made);
  return absl::OkStatus();
}

absl::Status SlotMaker::PrepareDevice(
    const DevicePtr& device, std::function<void(const absl::Status&)> ready) {
  FOREBAY_RETURN_IF_ERROR(device->ForJobs(device->copier().health()));
  std::uint32_t missing;
  {
    base::MutexLock lock(mutex_);
    missing = staging_->missing();
    if (producers_stage_) staging_->BeginMaking(missing);
  }
  auto staging = MakeStagingBy(*device, missing);
  if (!producers_stage_) {
    FOREBAY_RETURN_IF_ERROR(staging.status());
    base::MutexLock lock(mutex_);
    staging_->Add(&*staging);
  } else if (!staging.ok()) {
    base::MutexLock lock(mutex_);
    std::vector<StagingPool::Memory> none;
    staging_->EndMaking(missing, &none);
    return staging.status();
  } else if (missing > 0) {
    ShareStaging(*std::move(staging),
                 [this, missing, ready = std::move(ready)](
                     absl::StatusOr<std::vector<StagingPool::Memory>> shared) {
                   const absl::Status status = shared.status();
                   if (!shared.ok()) shared.emplace();
                   {
                     base::MutexLock lock(mutex_);
                     staging_->EndMaking(missing, &*shared);
                   }
                   ready(status);
                 });
  }
  return AttachDevice(device);
}

void SlotMaker::MakeSlots(std::uint32_t slots, OnSlots done) const {
  auto made = SlotMemory::Make(slots, size_, AttachedDevices());
  if (!made.ok()) {
    done(made.status());
    return;
  }
  if (producers_ == nullptr) {
    const absl::Status sealed = SlotMemory::Seal(*made);
    if (!sealed.ok()) made = sealed;
    done(std::move(made));
    return;
  }
  std::vector<Region> regions;
  for (const SlotParts& slot : *made) {
    const arena::SharedMemory& memory = slot.host.memory;
    regions.push_back({memory.fd(), memory.data(), memory.bytes()});
  }
  // A function must be copyable.
  const auto parts = std::make_shared<std::vector<SlotParts>>(*std::move(made));
  Share(regions, [parts, done = std::move(done)](
                     absl::StatusOr<std::vector<producer::SharedSlot>> shared) {
    if (!shared.ok()) {
      done(shared.status());
      return;
    }
    for (std::size_t i = 0; i < parts->size(); ++i)
      (*parts)[i].host.shared = std::move((*shared)[i]);
    const absl::Status sealed = SlotMemory::Seal(*parts);
    if (sealed.ok()) {
      done(std::move(*parts));
    } else {
      done(sealed);
    }
  });
}

absl::Status SlotMaker::AddParts(const std::vector<DevicePtr>& devices,
                                 std::vector<SlotParts>& slots) const {
  for (const DevicePtr& device : devices) {
    FOREBAY_ASSIGN_OR_RETURN(
        std::vector<DevicePart> parts,
        SlotMemory::MakeParts(static_cast<std::uint32_t>(slots.size()), size_,
                              *device));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i].devices.push_back(device);
      slots[i].device_parts.push_back(std::move(parts[i]));
    }
  }
  return absl::OkStatus();
}

void SlotMaker::MakeStaging(const OnStaging& done) const {
  std::vector<StagingPool::Memory> made;
  std::uint32_t missing;
  {
    base::MutexLock lock(mutex_);
    missing = staging_->missing();
  }
  for (const DevicePtr& device : AttachedDevices()) {
    if (!made.empty() || !device->copier().health().ok()) continue;
    auto memory = MakeStagingBy(*device, missing);
    if (memory.ok()) made = *std::move(memory);
  }
  if (producers_stage_ && !made.empty()) {
    ShareStaging(std::move(made), done);
  } else {
    done(std::move(made));
  }
}

absl::StatusOr<std::vector<StagingPool::Memory>> SlotMaker::MakeStagingBy(
    device::Device& device, std::uint32_t batches) const {
  std::vector<StagingPool::Memory> made;
  while (made.size() < batches) {
    FOREBAY_ASSIGN_OR_RETURN(
        StagingPool::Memory memory,
        device.MakeStaging(size_.device, producers_stage_));
    made.push_back(std::move(memory));
  }
  return made;
}

void SlotMaker::ShareStaging(std::vector<StagingPool::Memory> made,
                             OnStaging done) const {
  std::vector<Region> regions;
  for (const StagingPool::Memory& memory : made)
    regions.push_back({memory->fd(), memory->data(), memory->bytes()});
  Share(regions, [made = std::move(made), done = std::move(done)](
                     absl::StatusOr<std::vector<producer::SharedSlot>> shared) {
    absl::Status status = shared.status();
    for (std::size_t i = 0; i < made.size() && status.ok(); ++i)
      status = made[i]->Seal(std::move((*shared)[i]));
    if (status.ok()) {
      done(made);
    } else {
      done(status);
    }
  });
}

void SlotMaker::Share(const std::vector<Region>& regions, OnShared done) const {
  struct Sharing {
    std::size_t left;
    absl::Status status;
    std::vector<producer::SharedSlot> shared;
    OnShared done;
  };
  // The waiter calls back for one region after the other.
  const auto sharing = std::make_shared<Sharing>(
      Sharing{.left = regions.size(),
              .status = absl::OkStatus(),
              .shared = std::vector<producer::SharedSlot>(regions.size()),
              .done = std::move(done)});
  for (std::size_t i = 0; i < regions.size(); ++i) {
    producers_->Share(
        regions[i].fd, regions[i].data, regions[i].bytes,
        [sharing, i](absl::StatusOr<producer::SharedSlot> slot) {
          sharing->status.Update(slot.status());
          if (slot.ok()) sharing->shared[i] = *std::move(slot);
          if (--sharing->left > 0) return;
          auto all = sharing->status.ok()
                         ? absl::StatusOr<std::vector<producer::SharedSlot>>(
                               std::move(sharing->shared))
                         : sharing->status;
          sharing->shared.clear();
          sharing->done(std::move(all));
        });
  }
}

std::vector<DevicePtr> SlotMaker::AttachedDevices() const {
  base::MutexLock lock(mutex_);
  return batch_cache_->memory().attached();
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
