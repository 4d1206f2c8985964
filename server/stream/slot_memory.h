#ifndef FOREBAY_SERVER_STREAM_SLOT_MEMORY_H_
#define FOREBAY_SERVER_STREAM_SLOT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/gpu.h"
#include "server/arena/shared_memory.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/stream/slot_size.h"

namespace forebay::stream {

using DevicePtr = std::shared_ptr<device::Device>;
// A slot's part on a GPU.
using DevicePart = std::shared_ptr<const cuda::GpuMemory>;

// A slot's part on the host.
struct HostPart {
  arena::SharedMemory memory;
  // Lets producers write it while it lives; null if none do.
  std::shared_ptr<const void> shared = nullptr;
};

// One slot's memory: a part on the host, and one on each of these GPUs.
struct SlotParts {
  HostPart host;
  std::vector<DevicePtr> devices = {};
  std::vector<DevicePart> device_parts = {};  // likewise
};

// The memory of a stream's slots, on the host and on the GPUs that members have
// their batches on, and its reservations. Every slot has a part on each GPU
// that is attached, so that one batch serves all members.
//
// Not thread-safe: the stream guards it. Any thread may write into a slot's
// memory. Owns the memory; shares the GPUs; the host's budget outlives it. The
// static functions block while memory is made, as does the destruction of what
// is removed. Errors: RESOURCE_EXHAUSTED (a budget, or the memory itself),
// INTERNAL, and those of device::Device.
class SlotMemory {
 public:
  // Makes memory for so many slots, for Add. The caller has reserved it. Until
  // Seal, whoever gets its descriptors can map it for writing.
  static absl::StatusOr<std::vector<SlotParts>> Make(
      std::uint32_t slots, const SlotSize& size,
      const std::vector<DevicePtr>& devices);
  static absl::Status Seal(std::vector<SlotParts>& slots);
  // Makes a part on one GPU for each of so many slots, for Attach.
  static absl::StatusOr<std::vector<DevicePart>> MakeParts(
      std::uint32_t slots, const SlotSize& size, device::Device& device);

  SlotMemory(base::MemoryBudget* budget, const SlotSize& size)
      : budget_(budget), size_(size) {}

  const SlotSize& size() const { return size_; }
  std::uint32_t slots() const {
    return static_cast<std::uint32_t>(hosts_.size());
  }
  const arena::SharedMemory& host(std::uint32_t slot) const {
    return hosts_[slot].memory;
  }
  // The slot's part on an attached GPU.
  const DevicePart& part(const device::Device* device,
                         std::uint32_t slot) const;

  // --- Reservations, in slots: the host's and those on all GPUs.
  std::uint32_t reserved() const { return reserved_; }
  // Reserves memory for so many slots in all, if that is more than is reserved.
  absl::Status Reserve(std::uint32_t slots);
  // Reserves one slot more if, on the host and each GPU, `keep` slots more
  // would fit.
  bool ReserveSpare(std::uint64_t keep);
  // Leaves at least what is lent.
  void ShrinkTo(std::uint32_t slots);
  // Takes the host's reservation of one slot, which other processes will have
  // mapped; TakeBack returns it. It counts as reserved meanwhile.
  base::MemoryReservation Lend();
  void TakeBack(base::MemoryReservation room);
  // Slots whose reservations are lent.
  std::uint32_t lent() const { return lent_; }

  // --- GPUs.
  // Adds a member that has its batches on the GPU, whose memory is reserved.
  absl::Status Join(const DevicePtr& device);
  // Removes such a member. Returns the GPU's parts if it was the last.
  std::vector<DevicePart> Leave(const device::Device* device);
  // Whether every slot has a part on the GPU.
  bool IsAttached(const device::Device* device) const;
  // Whether that is so once the first slots in the making, if any, are there.
  bool IsPrepared(const device::Device* device) const;
  // Gives each slot, also of those in the making, its part there, of which it
  // has none.
  void Attach(const device::Device* device, std::vector<DevicePart> parts);
  // The GPUs on which every slot has a part.
  std::vector<DevicePtr> attached() const;
  // --- The first slots, while they are made.
  // Says that so many are made, with parts on these GPUs, which have members.
  // Add or EndFirst ends that. Members on other GPUs make their own parts
  // meanwhile.
  void BeginFirst(std::uint32_t slots,
                  const std::vector<const device::Device*>& devices);
  void EndFirst();
  std::uint32_t making_first() const { return making_first_; }
  // The GPUs that slots are to have parts on which are made now.
  std::vector<DevicePtr> DevicesToMakeFor() const;

  // --- Slots.
  // Returns descriptors of the slots from number `first` on, in order, as many
  // as one message takes; each followed by that of its part on the GPU, unless
  // null. None if the GPU is not attached. RESOURCE_EXHAUSTED: no descriptors
  // are left.
  absl::StatusOr<std::vector<base::Fd>> DescriptorsFor(
      const device::Device* device, std::uint32_t first) const;
  // Takes slots. Returns false, and takes none, if one lacks a part on a GPU
  // that was attached since it was made.
  bool Add(std::vector<SlotParts>* slots);
  // Removes the slot of the highest number.
  SlotParts RemoveLast();

 private:
  struct OnDevice {
    DevicePtr device;
    std::uint32_t members = 0;
    base::MemoryReservation room;
    std::vector<DevicePart> parts;  // a slot each, or none
    bool in_first = false;          // the first slots are made with parts on it
  };

  // The memory that a part takes: GPUs give it in such pieces.
  std::uint64_t PartBytes() const;
  OnDevice* Find(const device::Device* device);
  const OnDevice* Find(const device::Device* device) const {
    return const_cast<SlotMemory*>(this)->Find(device);
  }

  base::MemoryBudget* const budget_;
  const SlotSize size_;
  std::uint32_t reserved_ = 0;
  std::uint32_t lent_ = 0;  // of these
  std::uint32_t making_first_ = 0;
  base::MemoryReservation room_;
  std::vector<HostPart> hosts_;
  std::vector<OnDevice> devices_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_MEMORY_H_
