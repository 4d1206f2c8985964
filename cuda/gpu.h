#ifndef FOREBAY_CUDA_GPU_H_
#define FOREBAY_CUDA_GPU_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace forebay::cuda {

// Memory of a GPU that other processes map by its descriptor. The memory is
// freed once this object and all descriptors and mappings, in all processes,
// are gone.
//
// Immutable, so any thread may use it. The caller owns the memory, and destroys
// it before its Gpu, and after the last copy to the memory is done. Destruction
// may block for the GPU. No errors.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;

  // Returns a POSIX descriptor to send by SCM_RIGHTS. A process that has the
  // descriptor can write to the memory.
  virtual int fd() const = 0;
  // Returns the bytes that were asked for, rounded up to the GPU's granularity.
  virtual std::uint64_t bytes() const = 0;
};

// A GPU that this process uses: the process's context on the GPU, and one queue
// of copies.
//
// Thread-safe. The caller owns it, and destroys it after the memory that it has
// made. Allocate, Register, Unregister and destruction may block for the
// driver; Wait and Read block for the GPU; StartCopy does not block.
//
// Errors have the driver's words. RESOURCE_EXHAUSTED: no memory is left.
// INVALID_ARGUMENT: a range lies outside the memory. INTERNAL: this call
// failed. DATA_LOSS: the GPU is lost to this process, and all further calls
// fail with DATA_LOSS.
class Gpu {
 public:
  virtual ~Gpu() = default;

  // Makes memory of at least `bytes` bytes.
  virtual absl::StatusOr<std::unique_ptr<GpuMemory>> Allocate(
      std::uint64_t bytes) = 0;

  // Pins memory of the host: its pages stay where they are until Unregister.
  virtual absl::Status Register(void* data, std::uint64_t bytes) = 0;
  // Lets the pages of memory that Register has pinned move again. No copy of
  // the memory may be queued.
  virtual absl::Status Unregister(void* data) = 0;

  // Queues a copy of `bytes` registered bytes at `from` into `to`, at the
  // offset `offset`. The source must not change until the copy is done. Returns
  // the copy's number: numbers count from 1, and copies are done in the order
  // of their numbers.
  virtual absl::StatusOr<std::uint64_t> StartCopy(const GpuMemory& to,
                                                  std::uint64_t offset,
                                                  const void* from,
                                                  std::uint64_t bytes) = 0;
  // Waits until the copy with the number `copy` is done. All copies with lower
  // numbers are then done, too.
  virtual absl::Status Wait(std::uint64_t copy) = 0;
  // Waits for all queued copies, then copies `bytes` bytes of GPU memory to the
  // host.
  virtual absl::Status Read(const GpuMemory& from, std::uint64_t offset,
                            void* to, std::uint64_t bytes) = 0;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_GPU_H_
