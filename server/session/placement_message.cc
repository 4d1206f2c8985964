#include "server/session/placement_message.h"

#include <cstddef>
#include <cstdint>

#include "proto/shm_layout.h"
#include "server/pipeline/tail.h"

namespace forebay::session {

void DescribePlacement(const job::Loader& loader,
                       proto::LoaderPlacement& placement) {
  placement.set_refusal(loader.placement().refusal);
  if (loader.placement().device == nullptr) return;
  placement.set_gpu_uuid(loader.placement().device->info().uuid);
  placement.set_device_bytes(loader.slot_size().device);
  if (loader.tail() == nullptr) return;
  const pipeline::Tail& tail = *loader.tail();
  proto::Tail& said = *placement.mutable_tail();
  said.set_dtype(static_cast<proto::DataType>(tail.table.dtype));
  said.set_layout(tail.channels_last ? proto::ToImage::NHWC
                                     : proto::ToImage::NCHW);
  said.set_channels(static_cast<std::uint32_t>(tail.channels));
  const std::size_t element = proto::SizeOf(tail.table.dtype);
  for (int channel = 0; channel < tail.channels; ++channel) {
    for (const std::uint32_t bits :
         tail.table.bits[static_cast<std::size_t>(channel)]) {
      // The CPU is little-endian. If the type has fewer than 4 bytes, its value
      // lies in the first `element` bytes of `bits`.
      said.mutable_table()->append(reinterpret_cast<const char*>(&bits),
                                   element);
    }
  }
}

}  // namespace forebay::session
