#ifndef FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_
#define FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "cuda/gpu.h"
#include "server/base/fd.h"

namespace forebay::device {

// Pinned memory of the host, in which batches are made before they are copied
// to GPUs. Trainers do not map this memory, but workers that make batches in it
// do.
//
// Any thread may write into the memory. This object owns the memory, and keeps
// its GPU open. Create blocks while the pages are cleared and pinned; the
// destructor blocks while they are unpinned. Errors: RESOURCE_EXHAUSTED (no
// memory is left), and those of cuda::Gpu::Register.
class StagingMemory {
 public:
  // Makes memory that `gpu` pins for all GPUs of this process. The memory lies
  // on the NUMA node `numa_node`, unless that number is negative or the node is
  // full. `bytes` is rounded up to whole pages. With `has_writers`, other
  // processes may map the memory by fd().
  static absl::StatusOr<std::shared_ptr<StagingMemory>> Create(
      std::shared_ptr<cuda::Gpu> gpu, int numa_node, std::uint64_t bytes,
      bool has_writers = false);
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // Returns the GPU that has pinned the memory.
  const cuda::Gpu* gpu() const { return gpu_.get(); }

  // Returns the memfd by which other processes map the memory for writing.
  // Returns -1 if the memory has no writers, and after Seal.
  int fd() const { return fd_.get(); }
  // Lets no further process map the memory for writing. `shared` is the claim
  // by which other processes have mapped the memory already. The claim is
  // released just before the memory is unmapped.
  absl::Status Seal(std::shared_ptr<const void> shared);

 private:
  StagingMemory(std::shared_ptr<cuda::Gpu> gpu, std::uint8_t* data,
                std::uint64_t bytes);

  // Allocates the memory's pages, on the NUMA node `numa_node` if possible.
  absl::Status Populate(int numa_node);

  const std::shared_ptr<cuda::Gpu> gpu_;
  std::uint8_t* const data_;
  const std::uint64_t bytes_;
  bool pinned_ = false;
  base::Fd fd_;
  // The argument of Seal, released before the memory is unmapped; null if no
  // other process has mapped the memory.
  std::shared_ptr<const void> shared_;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_STAGING_MEMORY_H_
