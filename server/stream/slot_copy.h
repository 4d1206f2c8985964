#ifndef FOREBAY_SERVER_STREAM_SLOT_COPY_H_
#define FOREBAY_SERVER_STREAM_SLOT_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_size.h"

namespace forebay::stream {

// A copy of a published slot, and its part of the memory budget.
struct SlotCopy {
  base::MemoryReservation reservation;
  std::vector<std::uint8_t> bytes;
};

// A slot to be copied. The caller keeps it from being written meanwhile.
struct SlotSource {
  const std::uint8_t* host = nullptr;
  DevicePtr device;  // null: all lies on the host
  DevicePart part;   // on the device
};

// Returns the bytes of the slot, those on the host and then those on the GPU;
// the header in the copy says so. Blocks while it copies. Errors: those of
// cuda::Gpu.
absl::StatusOr<std::vector<std::uint8_t>> CopySlot(const SlotSource& slot,
                                                   const SlotSize& size);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_COPY_H_
