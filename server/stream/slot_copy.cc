#include "server/stream/slot_copy.h"

#include <cstring>

#include "proto/shm_layout.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

// Changes the header of a slot's copy as if all of the slot lay on the host.
// The device part begins behind the `host_bytes` of the host part.
void JoinParts(std::uint64_t host_bytes, std::uint8_t* slot) {
  proto::BatchHeader header;
  std::memcpy(&header, slot, sizeof(header));
  for (proto::FieldLayout& field : header.fields) {
    if (field.place == proto::Place::kHost) continue;
    field.place = proto::Place::kHost;
    field.offset += host_bytes;
  }
  std::memcpy(slot, &header, sizeof(header));
}

}  // namespace

absl::StatusOr<std::vector<std::uint8_t>> CopySlot(const SlotSource& slot,
                                                   const SlotSize& size) {
  std::vector<std::uint8_t> bytes(slot.host, slot.host + size.host);
  if (slot.device == nullptr) return bytes;
  bytes.resize(size.host + size.device);
  FOREBAY_RETURN_IF_ERROR(slot.device->ForJobs(slot.device->gpu()->Read(
      *slot.part, 0, bytes.data() + size.host, size.device)));
  JoinParts(size.host, bytes.data());
  return bytes;
}

}  // namespace forebay::stream
