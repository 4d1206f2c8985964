#include "server/stream/slot_memory.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

// Extends a reservation to `bytes`, if it is smaller.
absl::Status ExtendTo(std::uint64_t bytes, base::MemoryBudget& budget,
                      base::MemoryReservation& room) {
  if (bytes <= room.bytes()) return absl::OkStatus();
  return budget.Extend(&room, bytes - room.bytes(), "batches");
}

absl::Status ExtendTo(std::uint64_t bytes, device::Device& device,
                      base::MemoryReservation& room) {
  const base::MemoryBudget& budget = device.budget();
  if (ExtendTo(bytes, device.budget(), room).ok()) return absl::OkStatus();
  // The budget's own message would name the host's limit.
  return absl::ResourceExhaustedError(absl::StrCat(
      "GPU ", device.info().ordinal, ": no memory for batches: they need ",
      bytes >> 20, " MiB, and ", (budget.used() - room.bytes()) >> 20, " of ",
      budget.limit() >> 20, " MiB are in use (cuda.memory)"));
}

void ShrinkRoom(std::uint64_t bytes, base::MemoryReservation& room) {
  room.ShrinkTo(std::min(room.bytes(), bytes));
}

// The most descriptors in one message. The kernel allows 253 (SCM_MAX_FD).
constexpr std::uint32_t kMaxDescriptors = 250;

}  // namespace

absl::StatusOr<std::vector<SlotParts>> SlotMemory::Make(
    std::uint32_t slots, const SlotSize& size,
    const std::vector<DevicePtr>& devices) {
  // Clearing a slot's pages takes a core tens of milliseconds, and a trainer
  // waits for its first batch. All slots are therefore made at once, or one
  // after the other if the system has no threads left. The caller makes the
  // first slot itself: its CPU time then says whether the task takes long.
  const auto create = [bytes = size.host] {
    return slots::SharedMemory::CreateUnsealed("forebay-slot", bytes);
  };
  std::vector<std::future<absl::StatusOr<slots::SharedMemory>>> making;
  making.reserve(slots);
  for (std::uint32_t i = 1; i < slots; ++i) {
    making.push_back(
        std::async(std::launch::async | std::launch::deferred, create));
  }
  std::vector<SlotParts> slot_parts;
  slot_parts.reserve(slots);
  for (std::uint32_t i = 0; i < slots; ++i) {
    FOREBAY_ASSIGN_OR_RETURN(slots::SharedMemory created,
                             i == 0 ? create() : making[i - 1].get());
    slot_parts.push_back(
        {.host = {.memory = std::move(created)}, .devices = devices});
  }
  for (const DevicePtr& device : devices) {
    FOREBAY_ASSIGN_OR_RETURN(std::vector<DevicePart> parts,
                             MakeParts(slots, size, *device));
    for (std::uint32_t i = 0; i < slots; ++i)
      slot_parts[i].device_parts.push_back(std::move(parts[i]));
  }
  return slot_parts;
}

absl::Status SlotMemory::Seal(std::vector<SlotParts>& slots) {
  for (SlotParts& slot : slots)
    FOREBAY_RETURN_IF_ERROR(slot.host.memory.Seal(slots::ClientAccess::kRead));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DevicePart>> SlotMemory::MakeParts(
    std::uint32_t slots, const SlotSize& size, device::Device& device) {
  std::vector<DevicePart> parts;
  parts.reserve(slots);
  while (parts.size() < slots) {
    auto part = device.Allocate(size.device);
    if (!part.ok()) return part.status();
    parts.push_back(*std::move(part));
  }
  return parts;
}

std::uint64_t SlotMemory::PartBytes() const {
  // GPUs give memory in pieces of 2 MiB.
  constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;
  return (size_.device + kGranularity - 1) / kGranularity * kGranularity;
}

SlotMemory::OnDevice* SlotMemory::Find(const device::Device* device) {
  const auto found = std::find_if(
      devices_.begin(), devices_.end(),
      [&](const OnDevice& on) { return on.device.get() == device; });
  return found == devices_.end() ? nullptr : &*found;
}

const DevicePart& SlotMemory::part(const device::Device* device,
                                   std::uint32_t slot) const {
  FOREBAY_CHECK(IsAttached(device));
  return Find(device)->parts[slot];
}

absl::Status SlotMemory::Reserve(std::uint32_t slots) {
  if (slots <= reserved_) return absl::OkStatus();
  absl::Status status = ExtendTo((slots - lent_) * size_.host, *budget_, room_);
  for (OnDevice& on : devices_) {
    if (status.ok())
      status = ExtendTo(slots * PartBytes(), *on.device, on.room);
  }
  if (status.ok()) {
    reserved_ = slots;
  } else {
    ShrinkTo(reserved_);
  }
  return status;
}

bool SlotMemory::ReserveSpare(std::uint64_t keep) {
  const auto has = [keep](const base::MemoryBudget& budget,
                          std::uint64_t bytes) {
    return (keep + 1) * bytes <= budget.limit() - budget.used();
  };
  if (!has(*budget_, size_.host)) return false;
  for (const OnDevice& on : devices_) {
    if (!has(on.device->budget(), PartBytes())) return false;
  }
  auto more = budget_->ReserveSpare(size_.host);
  if (!more.has_value()) return false;
  room_.Add(*std::move(more));
  for (OnDevice& on : devices_) {
    auto part = on.device->budget().ReserveSpare(PartBytes());
    if (!part.has_value()) {
      ShrinkTo(reserved_);
      return false;
    }
    on.room.Add(*std::move(part));
  }
  ++reserved_;
  return true;
}

void SlotMemory::ShrinkTo(std::uint32_t slots) {
  reserved_ = std::max(lent_, std::min(reserved_, slots));
  ShrinkRoom((reserved_ - lent_) * size_.host, room_);
  for (OnDevice& on : devices_) ShrinkRoom(reserved_ * PartBytes(), on.room);
}

base::MemoryReservation SlotMemory::Lend() {
  ++lent_;
  return room_.Split(size_.host);
}

void SlotMemory::TakeBack(base::MemoryReservation room) {
  FOREBAY_CHECK(lent_ > 0);
  --lent_;
  room_.Add(std::move(room));
}

absl::Status SlotMemory::Join(const DevicePtr& device) {
  if (OnDevice* const on = Find(device.get()); on != nullptr) {
    ++on->members;
    return absl::OkStatus();
  }
  OnDevice on{.device = device,
              .members = 1,
              .room = {},
              .parts = {},
              .in_first = false};
  FOREBAY_RETURN_IF_ERROR(ExtendTo(reserved_ * PartBytes(), *device, on.room));
  devices_.push_back(std::move(on));
  return absl::OkStatus();
}

std::vector<DevicePart> SlotMemory::Leave(const device::Device* device) {
  OnDevice* const on = Find(device);
  FOREBAY_CHECK(on != nullptr);
  if (--on->members > 0) return {};
  std::vector<DevicePart> parts = std::move(on->parts);
  devices_.erase(devices_.begin() + (on - devices_.data()));
  return parts;
}

bool SlotMemory::IsAttached(const device::Device* device) const {
  const OnDevice* const on = Find(device);
  return on != nullptr && on->parts.size() == hosts_.size();
}

bool SlotMemory::IsPrepared(const device::Device* device) const {
  const OnDevice* const on = Find(device);
  return on != nullptr &&
         (on->in_first || on->parts.size() == hosts_.size() + making_first_);
}

void SlotMemory::Attach(const device::Device* device,
                        std::vector<DevicePart> parts) {
  OnDevice* const on = Find(device);
  FOREBAY_CHECK(on->parts.empty() &&
                parts.size() == hosts_.size() + making_first_);
  on->parts = std::move(parts);
}

std::vector<DevicePtr> SlotMemory::attached() const {
  std::vector<DevicePtr> devices;
  for (const OnDevice& on : devices_) {
    if (on.parts.size() == hosts_.size()) devices.push_back(on.device);
  }
  return devices;
}

void SlotMemory::BeginFirst(std::uint32_t slots,
                            const std::vector<const device::Device*>& devices) {
  FOREBAY_CHECK(hosts_.empty() && making_first_ == 0);
  making_first_ = slots;
  for (const device::Device* const device : devices)
    if (device != nullptr) Find(device)->in_first = true;
}

void SlotMemory::EndFirst() {
  making_first_ = 0;
  for (OnDevice& on : devices_) {
    on.in_first = false;
    if (on.parts.size() != hosts_.size()) on.parts.clear();
  }
}

std::vector<DevicePtr> SlotMemory::DevicesToMakeFor() const {
  if (making_first_ == 0) return attached();
  std::vector<DevicePtr> devices;
  for (const OnDevice& on : devices_)
    if (on.in_first) devices.push_back(on.device);
  return devices;
}

absl::StatusOr<std::vector<base::Fd>> SlotMemory::DescriptorsFor(
    const device::Device* device, std::uint32_t first) const {
  std::vector<base::Fd> fds;
  const std::size_t each = device == nullptr ? 1 : 2;
  if (device != nullptr && !IsAttached(device)) return fds;
  for (std::uint32_t slot = first;
       slot < slots() && fds.size() + each <= kMaxDescriptors; ++slot) {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, base::Duplicate(host(slot).fd()));
    fds.push_back(std::move(fd));
    if (device == nullptr) continue;
    FOREBAY_ASSIGN_OR_RETURN(base::Fd on_device,
                             base::Duplicate(part(device, slot)->fd()));
    fds.push_back(std::move(on_device));
  }
  return fds;
}

bool SlotMemory::Add(std::vector<SlotParts>* slots) {
  if (slots->empty()) return true;
  const auto index = [&](const OnDevice& on) {
    const std::vector<DevicePtr>& devices = slots->front().devices;
    return static_cast<std::size_t>(
        std::find(devices.begin(), devices.end(), on.device) - devices.begin());
  };
  const std::size_t made_for = slots->front().devices.size();
  for (const OnDevice& on : devices_) {
    // The first slots may lack such parts: there are no batches yet that
    // members on the GPU rely on.
    if (!hosts_.empty() && on.parts.size() == hosts_.size() &&
        index(on) == made_for)
      return false;
  }
  for (OnDevice& on : devices_) {
    const std::size_t at = index(on);
    if (at == made_for || on.parts.size() != hosts_.size()) continue;
    for (SlotParts& slot : *slots)
      on.parts.push_back(std::move(slot.device_parts[at]));
  }
  for (SlotParts& slot : *slots) hosts_.push_back(std::move(slot.host));
  slots->clear();
  if (making_first_ > 0) EndFirst();
  return true;
}

SlotParts SlotMemory::RemoveLast() {
  SlotParts removed{.host = std::move(hosts_.back())};
  for (OnDevice& on : devices_) {
    if (on.parts.size() != hosts_.size()) continue;
    removed.devices.push_back(on.device);
    removed.device_parts.push_back(std::move(on.parts.back()));
    on.parts.pop_back();
  }
  hosts_.pop_back();
  return removed;
}

}  // namespace forebay::stream
