#ifndef FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_
#define FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "cuda/gpu.h"

namespace forebay::device {

// Pinned memory of the host, from which batches are copied to GPUs. It is never
// shared with clients.
//
// Any thread may write into it. Owns the memory, and keeps its GPU open. Create
// and destruction block while pages are cleared and pinned. Errors:
// RESOURCE_EXHAUSTED (no memory is left), and those of cuda::Gpu::Register.
class StagingMemory {
 public:
  // Pins it for all GPUs of this process, by `gpu`. On `numa_node`, unless that
  // is negative or full. `bytes` is rounded up to whole pages.
  static absl::StatusOr<std::shared_ptr<StagingMemory>> Create(
      std::shared_ptr<cuda::Gpu> gpu, int numa_node, std::uint64_t bytes);
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // By which it was pinned.
  const cuda::Gpu* gpu() const { return gpu_.get(); }

 private:
  StagingMemory(std::shared_ptr<cuda::Gpu> gpu, std::uint8_t* data,
                std::uint64_t bytes);

  const std::shared_ptr<cuda::Gpu> gpu_;
  std::uint8_t* const data_;
  const std::uint64_t bytes_;
  bool pinned_ = false;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_
