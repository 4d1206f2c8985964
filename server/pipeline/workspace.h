#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_H_

#include <cstdint>
#include <memory>

namespace forebay::pipeline {

struct WorkspaceLimits {
  std::uint64_t max_pixels = 178'956'970;  // width * height of an image
  // What one image may need from its bytes to the slot: what decoding it takes,
  // and what lies between the ops.
  std::uint64_t scratch_bytes = std::uint64_t{256} << 20;
  // So much a larger workspace has, for images that do not fit this one; 0:
  // there is none.
  std::uint64_t larger_scratch_bytes = 0;
};

// What one worker thread reuses from sample to sample: decoders and scratch
// memory, never more than its limits allow, nothing allocated for a sample of
// the usual kind. Not thread-safe. Owns what it holds. Never blocks.
// Limits are enforced, as RESOURCE_EXHAUSTED, by Pipeline::Run.
class Workspace {
 public:
  explicit Workspace(const WorkspaceLimits& limits);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const WorkspaceLimits& limits() const { return limits_; }
  // Whether the image that was made last failed for lack of scratch that a
  // larger workspace may have.
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
