#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline {

struct WorkspaceLimits {
  std::uint64_t max_pixels = 178'956'970;  // width * height of an image
  // The memory that one image may need from its bytes to the slot: to decode
  // it, and between the ops.
  std::uint64_t scratch_bytes = std::uint64_t{256} << 20;
  // The scratch of a larger workspace, for images that do not fit here; 0
  // if there is none.
  std::uint64_t larger_scratch_bytes = 0;
};

// The decoders and scratch memory that one worker thread reuses from sample to
// sample, never more than its limits allow. A sample of the usual kind
// allocates nothing. Not thread-safe. Owns what it holds. Never blocks.
// Pipeline::Run enforces the limits, as RESOURCE_EXHAUSTED.
class Workspace {
 public:
  explicit Workspace(const WorkspaceLimits& limits);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const WorkspaceLimits& limits() const { return limits_; }
  // Returns room to unpack an image into, before it is decoded from there. It
  // is a part of the image's scratch, until another one is decoded.
  // RESOURCE_EXHAUSTED: there is too little scratch.
  absl::StatusOr<absl::Span<std::uint8_t>> RoomToUnpack(std::uint64_t bytes);
  // Whether the last image failed for lack of scratch that a larger workspace
  // may have.
  bool WantsLarger() const;

  // For Pipeline alone.
  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  const WorkspaceLimits limits_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
