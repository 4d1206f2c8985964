#ifndef FOREBAY_CLIENT_CORE_IMAGE_TAIL_H_
#define FOREBAY_CLIENT_CORE_IMAGE_TAIL_H_

#include "client/base/status.h"
#include "client/device/gpu.h"
#include "proto/session.message.h"
#include "proto/shm_layout.h"

namespace forebay::client::core {

// The last ops of a pipeline, which a trainer's GPU runs on the images of its
// batches. Images come as uint8, channels last. The tail looks up each value in
// a table from the daemon, and may put channels first. This does the work of
// ToDtype, Normalize and ToImage.
//
// Immutable, and therefore thread-safe. Owns its table. Run queues work on a
// stream, and may block until the stream has room. Errors: named at each
// method, and those of the GPU.
class ImageTail {
 public:
  // Checks a tail that the daemon has sent. INTERNAL if it is malformed.
  static Status Create(const message::Tail& said, ImageTail* out);

  // Makes a tail that changes nothing, for images that come finished.
  ImageTail() = default;

  // Changes the type and shape of the images in a checked header to those that
  // Run makes. INTERNAL if the images do not fit the tail.
  Status Describe(proto::BatchHeader* header) const;
  // Queues work on `stream` that reads a field's bytes at address `from` and
  // writes its elements at address `to`. Both addresses are on the GPU. `field`
  // is part of a header that Describe has changed. Fields other than images are
  // only copied.
  Status Run(device::Gpu& gpu, void* stream, const proto::FieldLayout& field,
             std::uint64_t from, std::uint64_t to) const;

 private:
  bool IsFor(const proto::FieldLayout& field) const;

  bool needed_ = false;                        // false: images come finished
  proto::DType dtype_ = proto::DType::kUint8;  // the type that Run makes
  cuda::PluginTail kernel_ = {};
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_IMAGE_TAIL_H_
