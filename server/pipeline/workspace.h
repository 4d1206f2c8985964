#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_H_

#include <cstdint>
#include <memory>

namespace forebay::pipeline {

struct WorkspaceLimits {
  std::uint64_t max_pixels = 178'956'970;  // width * height of an image
  std::uint64_t scratch_bytes = std::uint64_t{256} << 20;
};

// What one worker thread reuses from sample to sample: decoders and scratch
// memory, never more than its limits allow. Not thread-safe.
class Workspace {
 public:
  explicit Workspace(const WorkspaceLimits& limits);
  ~Workspace();
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WORKSPACE_H_
