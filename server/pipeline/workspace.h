#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline {

// The limits of one workspace.
struct WorkspaceLimits {
  // The most pixels, width times height, of an image: the number above which
  // Pillow raises DecompressionBombError.
  std::uint64_t max_pixels = 178'956'970;
  // The most bytes of memory that one image may need on its way from its file's
  // bytes to the slot: to decode it, and between ops.
  std::uint64_t scratch_bytes = std::uint64_t{256} << 20;
  // Scratch bytes of the larger workspace, for images that do not fit in this
  // one; 0 if there is no larger workspace.
  std::uint64_t larger_scratch_bytes = 0;
};

// The decoders and scratch memory that one thread reuses from sample to sample.
// They never take more memory than the limits allow. A sample of the usual kind
// allocates nothing. Not thread-safe. Owns its decoders and memory. Never
// blocks. Pipeline::Run returns RESOURCE_EXHAUSTED for an image that exceeds a
// limit.
class Workspace {
 public:
  explicit Workspace(const WorkspaceLimits& limits);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const WorkspaceLimits& limits() const { return limits_; }
  // Returns room for `bytes` bytes, into which the caller may decompress an
  // image's file. The image is then decoded from there. The room counts against
  // the image's scratch, and is valid until another image is decoded.
  // RESOURCE_EXHAUSTED: there is too little scratch.
  absl::StatusOr<absl::Span<std::uint8_t>> RoomToDecompress(
      std::uint64_t bytes);
  // Whether the last image failed for lack of scratch memory, and a larger
  // workspace has more.
  bool WantsLarger() const;

  // The decoders and the scratch memory. Only code of the room `pipeline` uses
  // them.
  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  const WorkspaceLimits limits_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
