#ifndef FOREBAY_CUDA_GPU_H_
#define FOREBAY_CUDA_GPU_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace forebay::cuda {

// Memory of a GPU that other processes map by its descriptor. It lives until
// this object and the descriptors and mappings of all processes are gone.
//
// Immutable, so any thread may use it. The caller owns it, and destroys it
// before its Gpu and after the last copy to it. Destruction may block for the
// GPU. No errors.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;

  // A POSIX descriptor for SCM_RIGHTS. A process that has it can write.
  virtual int fd() const = 0;
  // As asked for, rounded up to the GPU's granularity.
  virtual std::uint64_t bytes() const = 0;
};

// A GPU that this process uses: its context there, and one queue of copies.
//
// Thread-safe. The caller owns it; it outlives what it has made. Allocate,
// Register, Unregister and destruction may block for the driver, Wait and Read
// block for the GPU; StartCopy does not. Errors: RESOURCE_EXHAUSTED (no memory
// is left), INVALID_ARGUMENT (a range outside the memory), INTERNAL (this call
// failed), DATA_LOSS (the GPU is lost to this process: all further calls fail
// so); each has the driver's words.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual absl::StatusOr<std::unique_ptr<GpuMemory>> Allocate(
      std::uint64_t bytes) = 0;

  // Pins memory of the host, whose pages stay where they are until Unregister.
  virtual absl::Status Register(void* data, std::uint64_t bytes) = 0;
  virtual absl::Status Unregister(void* data) = 0;

  // Queues a copy of registered memory, which stays as it is until the copy is
  // done. Returns the copy's number: they count from 1, and copies are done in
  // this order.
  virtual absl::StatusOr<std::uint64_t> StartCopy(const GpuMemory& to,
                                                  std::uint64_t offset,
                                                  const void* from,
                                                  std::uint64_t bytes) = 0;
  // Returns once a copy, and so each before it, is done.
  virtual absl::Status Wait(std::uint64_t copy) = 0;
  // Copies back, after all copies that are queued.
  virtual absl::Status Read(const GpuMemory& from, std::uint64_t offset,
                            void* to, std::uint64_t bytes) = 0;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_GPU_H_
