#include "server/stream/slot_maker.h"

#include <iterator>

#include "server/base/status.h"
#include "server/device/staging_memory.h"

namespace forebay::stream {

absl::Status SlotMaker::AddFirstSlots(std::uint32_t slots) {
  std::vector<DevicePtr> devices;
  bool others_wait = false;
  {
    base::MutexLock lock(mutex_);
    while (making_first_) first_slots_done_.Wait(mutex_);
    if (batch_cache_->pool().slots() > 0) return absl::OkStatus();
    devices = batch_cache_->memory().attached();
    // A driver may hang, so no caller waits for another that asks a driver.
    making_first_ = others_wait = devices.empty();
  }
  // If GPUs have parts, several callers may make slots at once. The first to
  // finish adds its slots; the slots of the other callers are dropped.
  auto slot_parts = SlotMemory::Make(slots, size_, devices);
  absl::Status status =
      slot_parts.ok() ? SlotMemory::Seal(*slot_parts) : slot_parts.status();
  if (status.ok()) KeepParts(*slot_parts);
  base::MutexLock lock(mutex_);
  if (status.ok()) batch_cache_->AddFirst(&*slot_parts);
  if (others_wait) {
    making_first_ = false;
    first_slots_done_.NotifyAll();
  }
  return status;
}

absl::Status SlotMaker::PrepareDevice(
    const DevicePtr& device, std::function<void(const absl::Status&)> ready) {
  FOREBAY_RETURN_IF_ERROR(device->ForJobs(device->copier().health()));
  std::uint32_t missing;
  Owners owners;
  {
    base::MutexLock lock(mutex_);
    missing = workers_.stage ? staging_->BeginMaking() : staging_->missing();
    if (workers_.stage) owners = Keep(staging_->TakeLent(missing), false);
  }
  auto staging = MakeStagingBy(*device, missing);
  if (!workers_.stage) {
    FOREBAY_RETURN_IF_ERROR(staging.status());
    base::MutexLock lock(mutex_);
    staging_->Add(&*staging);
  } else if (!staging.ok()) {
    base::MutexLock lock(mutex_);
    std::vector<StagingPool::Memory> none;
    staging_->EndMaking(missing, &none);
    return staging.status();
  } else if (missing > 0) {
    ShareStaging(*std::move(staging), std::move(owners),
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

executor::Demand SlotMaker::DemandOfSlots(std::uint32_t slots) const {
  // The estimate is that the kernel clears 2 bytes a nanosecond.
  const std::uint64_t nanos = size_.host * slots / 2;
  return {.cpu_nanos = static_cast<std::int64_t>(nanos),
          .may_be_long = size_.device > 0};
}

SlotMaker::Owners SlotMaker::Keep(std::vector<base::MemoryReservation> lent,
                                  bool is_slot) const {
  Owners owners;
  for (base::MemoryReservation& one : lent)
    owners.push_back(workers_.keep(std::move(one), is_slot));
  return owners;
}

void SlotMaker::MakeSlots(std::uint32_t slots, OnSlots done) const {
  std::vector<DevicePtr> devices;
  Owners owners;
  {
    base::MutexLock lock(mutex_);
    devices = batch_cache_->memory().DevicesToMakeFor();
    owners = Keep(batch_cache_->TakeLent(slots), true);
  }
  auto slot_parts = SlotMemory::Make(slots, size_, devices);
  if (!slot_parts.ok()) {
    done(slot_parts.status());
    return;
  }
  KeepParts(*slot_parts);
  if (workers_.set == nullptr) {
    const absl::Status sealed = SlotMemory::Seal(*slot_parts);
    if (!sealed.ok()) slot_parts = sealed;
    done(std::move(slot_parts));
    return;
  }
  std::vector<Region> regions;
  for (std::size_t i = 0; i < slot_parts->size(); ++i) {
    const slots::SharedMemory& memory = (*slot_parts)[i].host.memory;
    regions.push_back({.fd = memory.fd(),
                       .data = memory.data(),
                       .bytes = memory.bytes(),
                       .owner = std::move(owners[i])});
  }
  // A std::function must be copyable.
  const auto parts = aside_.Keep(
      std::make_shared<std::vector<SlotParts>>(*std::move(slot_parts)));
  Share(std::move(regions),
        [parts, done = std::move(done)](
            absl::StatusOr<std::vector<worker::SharedSlot>> shared) {
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

void SlotMaker::MakeStaging(std::uint32_t batches,
                            const OnStaging& done) const {
  std::vector<DevicePtr> devices;
  Owners owners;
  {
    base::MutexLock lock(mutex_);
    devices = batch_cache_->memory().attached();
    owners = Keep(staging_->TakeLent(batches), false);
  }
  std::vector<StagingPool::Memory> staging;
  for (const DevicePtr& device : devices) {
    if (!staging.empty() || !device->copier().health().ok()) continue;
    auto memory = MakeStagingBy(*device, batches);
    if (memory.ok()) staging = *std::move(memory);
  }
  if (workers_.stage && !staging.empty()) {
    ShareStaging(std::move(staging), std::move(owners), done);
  } else {
    done(std::move(staging));
  }
}

absl::StatusOr<std::vector<StagingPool::Memory>> SlotMaker::MakeStagingBy(
    device::Device& device, std::uint32_t batches) const {
  std::vector<StagingPool::Memory> staging;
  while (staging.size() < batches) {
    FOREBAY_ASSIGN_OR_RETURN(StagingPool::Memory memory,
                             device.MakeStaging(size_.device, workers_.stage));
    staging.push_back(aside_.Keep(std::move(memory)));
  }
  return staging;
}

void SlotMaker::ShareStaging(std::vector<StagingPool::Memory> staging,
                             Owners owners, OnStaging done) const {
  std::vector<Region> regions;
  for (std::size_t i = 0; i < staging.size(); ++i) {
    const device::StagingMemory& memory = *staging[i];
    regions.push_back({.fd = memory.fd(),
                       .data = memory.data(),
                       .bytes = memory.bytes(),
                       .owner = std::move(owners[i])});
  }
  Share(std::move(regions),
        [staging = std::move(staging), done = std::move(done)](
            absl::StatusOr<std::vector<worker::SharedSlot>> shared) {
          absl::Status status = shared.status();
          for (std::size_t i = 0; i < staging.size() && status.ok(); ++i)
            status = staging[i]->Seal(std::move((*shared)[i]));
          if (status.ok()) {
            done(staging);
          } else {
            done(status);
          }
        });
}

void SlotMaker::Share(std::vector<Region> regions, OnShared done) const {
  // The state that the callbacks of all regions share.
  struct Sharing {
    std::size_t left;
    absl::Status status;
    std::vector<worker::SharedSlot> shared;
    OnShared done;
    // The regions' owners, which give the reservations back when they are
    // released. They are released only after `done` was called.
    Owners owners;
  };
  // The waiter calls back for one region after the other, so `sharing` needs no
  // lock.
  const auto sharing = std::make_shared<Sharing>(
      Sharing{.left = regions.size(),
              .status = absl::OkStatus(),
              .shared = std::vector<worker::SharedSlot>(regions.size()),
              .done = std::move(done),
              .owners = {}});
  for (const Region& region : regions) sharing->owners.push_back(region.owner);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    workers_.set->Share(
        std::move(regions[i]),
        [sharing, i](absl::StatusOr<worker::SharedSlot> slot) {
          sharing->status.Update(slot.status());
          if (slot.ok()) sharing->shared[i] = *std::move(slot);
          if (--sharing->left > 0) return;
          auto all = sharing->status.ok()
                         ? absl::StatusOr<std::vector<worker::SharedSlot>>(
                               std::move(sharing->shared))
                         : sharing->status;
          sharing->shared.clear();
          sharing->done(std::move(all));
        });
  }
}

void SlotMaker::KeepParts(std::vector<SlotParts>& slots) const {
  for (SlotParts& slot : slots) {
    for (DevicePart& part : slot.device_parts)
      part = aside_.Keep(std::move(part));
  }
}

absl::StatusOr<std::vector<DevicePart>> SlotMaker::MakeParts(
    std::uint32_t slots, device::Device& device) const {
  auto parts = SlotMemory::MakeParts(slots, size_, device);
  if (!parts.ok()) return parts;
  for (DevicePart& part : *parts) part = aside_.Keep(std::move(part));
  return parts;
}

absl::Status SlotMaker::AttachDevice(const DevicePtr& device) {
  std::vector<DevicePart> parts;
  for (;;) {
    std::uint32_t slots;
    {
      base::MutexLock lock(mutex_);
      SlotMemory& memory = batch_cache_->memory();
      // Slots may come or go, and another member may attach the GPU, while
      // parts are made without the mutex. The loop ends when the parts fit the
      // slots.
      slots = memory.slots() + memory.making_first();
      if (!memory.IsPrepared(device.get()) && parts.size() == slots)
        memory.Attach(device.get(), std::exchange(parts, {}));
      if (memory.IsPrepared(device.get())) {
        batch_cache_->ForgetUnlessOn(device.get());
        return absl::OkStatus();
      }
    }
    if (parts.size() > slots) parts.resize(slots);
    FOREBAY_ASSIGN_OR_RETURN(
        std::vector<DevicePart> more,
        MakeParts(slots - static_cast<std::uint32_t>(parts.size()), *device));
    std::move(more.begin(), more.end(), std::back_inserter(parts));
  }
}

}  // namespace forebay::stream
