#ifndef FOREBAY_SERVER_STREAM_SLOT_COPY_H_
#define FOREBAY_SERVER_STREAM_SLOT_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_size.h"

namespace forebay::stream {

// A copy of a published slot, and the reservation of its memory.
struct SlotCopy {
  base::MemoryReservation reservation;
  std::vector<std::uint8_t> bytes;
};

// A slot to be copied. The caller keeps others from writing into it meanwhile.
struct SlotSource {
  const std::uint8_t* host = nullptr;
  // The GPU of the device part; null if all lies on the host.
  DevicePtr device;
  // The slot's part on that GPU.
  DevicePart part;
};

// Returns the bytes of the slot: those on the host, then those on the GPU. The
// copy's header is changed to describe this layout. Blocks while it copies.
// Errors: those of cuda::Gpu.
absl::StatusOr<std::vector<std::uint8_t>> CopySlot(const SlotSource& slot,
                                                   const SlotSize& size);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_COPY_H_
