#ifndef FOREBAY_SERVER_STREAM_SLOT_MEMORY_H_
#define FOREBAY_SERVER_STREAM_SLOT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/gpu.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/slots/shared_memory.h"
#include "server/stream/slot_size.h"

namespace forebay::stream {

using DevicePtr = std::shared_ptr<device::Device>;
// The part of a slot on a GPU.
using DevicePart = std::shared_ptr<const cuda::GpuMemory>;

// The part of a slot on the host.
struct HostPart {
  slots::SharedMemory memory;
  // The claim by which workers may write the memory; null if they may not.
  std::shared_ptr<const void> shared = nullptr;
};

// The memory of one slot: a part on the host, and a part on each of some GPUs.
struct SlotParts {
  HostPart host;
  std::vector<DevicePtr> devices = {};
  // The parts on `devices`, in their order.
  std::vector<DevicePart> device_parts = {};
};

// The memory of a stream's slots, on the host and on the GPUs that members have
// their batches on, and its reservations. Every slot has a part on each
// attached GPU, so that one batch serves all members.
//
// Not thread-safe: the stream guards it. Any thread may write into a slot's
// memory. Owns the memory; shares the GPUs; the host's budget outlives it. The
// static functions block while memory is made, and so does the destruction of
// removed memory. Errors: RESOURCE_EXHAUSTED if a budget or the memory itself
// is exhausted; INTERNAL; and those of device::Device.
class SlotMemory {
 public:
  // Makes memory for `slots` slots, for Add. The caller has reserved it. Until
  // Seal, any holder of its descriptors can map it for writing.
  static absl::StatusOr<std::vector<SlotParts>> Make(
      std::uint32_t slots, const SlotSize& size,
      const std::vector<DevicePtr>& devices);
  // Seals the host parts: clients can then only read them.
  static absl::Status Seal(std::vector<SlotParts>& slots);
  // Makes a part on one GPU for each of `slots` slots, for Attach.
  static absl::StatusOr<std::vector<DevicePart>> MakeParts(
      std::uint32_t slots, const SlotSize& size, device::Device& device);

  SlotMemory(base::MemoryBudget* budget, const SlotSize& size)
      : budget_(budget), size_(size) {}

  const SlotSize& size() const { return size_; }
  std::uint32_t slots() const {
    return static_cast<std::uint32_t>(hosts_.size());
  }
  const slots::SharedMemory& host(std::uint32_t slot) const {
    return hosts_[slot].memory;
  }
  // Returns the slot's part on an attached GPU.
  const DevicePart& part(const device::Device* device,
                         std::uint32_t slot) const;

  // --- Reservations, counted in slots, of the host and of all GPUs.
  std::uint32_t reserved() const { return reserved_; }
  // Reserves memory for `slots` slots in all, if fewer are reserved.
  absl::Status Reserve(std::uint32_t slots);
  // Reserves one more slot if, on the host and each GPU, `keep` more slots
  // would still fit.
  bool ReserveSpare(std::uint64_t keep);
  // Reduces the reservations to `slots` slots, but not below those that are
  // lent.
  void ShrinkTo(std::uint32_t slots);
  // Takes out the host's reservation of one slot, which other processes will
  // map. TakeBack puts the reservation back. The slot counts as reserved
  // meanwhile.
  base::MemoryReservation Lend();
  void TakeBack(base::MemoryReservation room);
  // Returns the number of slots whose reservations are lent.
  std::uint32_t lent() const { return lent_; }

  // --- GPUs.
  // Adds a member that has its batches on the GPU, and reserves memory there.
  absl::Status Join(const DevicePtr& device);
  // Removes a member that Join has added. Returns the slots' parts on the GPU
  // if it was the last member there.
  std::vector<DevicePart> Leave(const device::Device* device);
  // Whether every slot has a part on the GPU.
  bool IsAttached(const device::Device* device) const;
  // Whether every slot will have a part on the GPU once the first slots, if
  // they are being made, are there.
  bool IsPrepared(const device::Device* device) const;
  // Gives each slot its part on a GPU on which no slot has a part yet. First
  // slots that are being made get theirs too.
  void Attach(const device::Device* device, std::vector<DevicePart> parts);
  // Returns the GPUs on which every slot has a part.
  std::vector<DevicePtr> attached() const;

  // --- The first slots, while they are made.
  // Tells that the first `slots` slots are being made, with parts on `devices`:
  // GPUs that have members. Add or EndFirst ends this. Members that come on
  // other GPUs meanwhile make the slots' parts there themselves.
  void BeginFirst(std::uint32_t slots,
                  const std::vector<const device::Device*>& devices);
  void EndFirst();
  std::uint32_t making_first() const { return making_first_; }
  // Returns the GPUs on which slots that are made now are to have parts.
  std::vector<DevicePtr> DevicesToMakeFor() const;

  // --- Slots. Returns descriptors of the slots from number `first` on, in
  // order, as many as one message takes. If `device` is not null, each slot's
  // descriptor is followed by that of its part on the GPU. Returns none if that
  // GPU is not attached. RESOURCE_EXHAUSTED: no descriptors are left.
  absl::StatusOr<std::vector<base::Fd>> DescriptorsFor(
      const device::Device* device, std::uint32_t first) const;
  // Adds slots. Returns false, and adds none, if a slot lacks a part on a GPU
  // that was attached after the slot was made.
  bool Add(std::vector<SlotParts>* slots);
  // Removes and returns the slot with the highest number.
  SlotParts RemoveLast();

 private:
  // A GPU on which members have their batches.
  struct OnDevice {
    DevicePtr device;
    std::uint32_t members = 0;
    // The reservation of the parts' memory.
    base::MemoryReservation room;
    // The parts by slot; empty while the GPU is not attached.
    std::vector<DevicePart> parts;
    // Whether the first slots are being made with parts on the GPU.
    bool in_first = false;
  };

  // Returns the number of bytes that a slot's part takes on a GPU, rounded up
  // to the pieces in which GPUs give memory.
  std::uint64_t PartBytes() const;
  OnDevice* Find(const device::Device* device);
  const OnDevice* Find(const device::Device* device) const {
    return const_cast<SlotMemory*>(this)->Find(device);
  }

  base::MemoryBudget* const budget_;
  const SlotSize size_;
  std::uint32_t reserved_ = 0;
  // The number of reserved slots that are lent.
  std::uint32_t lent_ = 0;
  // The number of first slots that are being made; 0 if none is.
  std::uint32_t making_first_ = 0;
  // The host's reservation, without what is lent.
  base::MemoryReservation room_;
  std::vector<HostPart> hosts_;
  std::vector<OnDevice> devices_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_MEMORY_H_
