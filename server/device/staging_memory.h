#ifndef FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_
#define FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "cuda/gpu.h"
#include "server/base/fd.h"

namespace forebay::device {

// Pinned memory of the host, from which batches are copied to GPUs. Clients do
// not have it, but for the producers that make the batches.
//
// Any thread may write into it. Owns the memory, and keeps its GPU open. Create
// and destruction block while pages are cleared and pinned. Errors:
// RESOURCE_EXHAUSTED (no memory is left), and those of cuda::Gpu::Register.
class StagingMemory {
 public:
  // Pins it for all GPUs of this process, by `gpu`. On `numa_node`, unless that
  // is negative or full. `bytes` is rounded up to whole pages. Unless it
  // `has_writers`, it is this process's alone.
  static absl::StatusOr<std::shared_ptr<StagingMemory>> Create(
      std::shared_ptr<cuda::Gpu> gpu, int numa_node, std::uint64_t bytes,
      bool has_writers = false);
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // By which it was pinned.
  const cuda::Gpu* gpu() const { return gpu_.get(); }

  // The memfd of memory that has writers: other processes may map the memory
  // for writing until Seal. -1 afterwards.
  int fd() const { return fd_.get(); }
  // Lets nobody else map it for writing. `shared` lives as long as the memory.
  absl::Status Seal(std::shared_ptr<const void> shared);

 private:
  StagingMemory(std::shared_ptr<cuda::Gpu> gpu, std::uint8_t* data,
                std::uint64_t bytes);

  absl::Status Populate(int numa_node);

  const std::shared_ptr<cuda::Gpu> gpu_;
  std::uint8_t* const data_;
  const std::uint64_t bytes_;
  bool pinned_ = false;
  base::Fd fd_;
  std::shared_ptr<const void> shared_;  // null if others do not have it
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_
