#ifndef FOREBAY_CLIENT_CORE_IMAGE_TAIL_H_
#define FOREBAY_CLIENT_CORE_IMAGE_TAIL_H_

#include "client/base/status.h"
#include "client/device/gpu.h"
#include "client/wire/session_codec.h"
#include "proto/shm_layout.h"

namespace forebay::client::core {

// The work of a trainer on the images of batches on its GPU, which come as
// uint8, channels last. Immutable, so thread-safe; nothing blocks.
class ImageTail {
 public:
  // INTERNAL if what the daemon says makes no sense.
  static Status Create(const wire::Tail& said, ImageTail* out);

  // The images come finished.
  ImageTail() = default;

  // Gives the images of a checked header the type and shape that they will
  // have. INTERNAL if they are none of those that the tail is for.
  Status Describe(proto::BatchHeader* header) const;
  // Makes a described field at `to` of what is at `from`.
  Status Run(device::Gpu& gpu, void* stream, const proto::FieldLayout& field,
             std::uint64_t from, std::uint64_t to) const;

 private:
  bool IsFor(const proto::FieldLayout& field) const;

  bool needed_ = false;
  proto::DType dtype_ = proto::DType::kUint8;
  cuda::PluginTail kernel_ = {};
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_IMAGE_TAIL_H_
