#ifndef FOREBAY_CUDA_FAKE_GPU_H_
#define FOREBAY_CUDA_FAKE_GPU_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/gpu.h"

namespace forebay::cuda {

// A GPU for tests, whose memory lies on the host. StartCopy only queues a copy;
// the first Wait or Read that needs the copy makes it. Thread-safe. Owned by
// the caller. Never blocks. Errors: those of Gpu, and the error that Fail sets.
class FakeGpu final : public Gpu {
 public:
  static constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;

  explicit FakeGpu(std::uint64_t capacity) : capacity_(capacity) {}

  // Makes all calls from now on fail with `error`. If `error` is OK, calls
  // succeed again.
  void Fail(absl::Status error);
  // Calls `call` once, in the next Allocate.
  void InAllocate(std::function<void()> call);
  // Returns the bytes that are allocated.
  std::uint64_t allocated() const;

  absl::StatusOr<std::unique_ptr<GpuMemory>> Allocate(
      std::uint64_t bytes) override;
  absl::Status Register(void* data, std::uint64_t bytes) override;
  absl::Status Unregister(void* data) override;
  absl::StatusOr<std::uint64_t> StartCopy(const GpuMemory& to,
                                          std::uint64_t offset,
                                          const void* from,
                                          std::uint64_t bytes) override;
  absl::Status Wait(std::uint64_t copy) override;
  absl::Status Read(const GpuMemory& from, std::uint64_t offset, void* to,
                    std::uint64_t bytes) override;

 private:
  // A copy that was queued and is not made yet.
  struct Copy {
    std::uint8_t* to;
    const void* from;
    std::uint64_t bytes;
  };
  class Memory;

  // Makes all queued copies up to number `copy`. The caller holds mutex_.
  void FinishLocked(std::uint64_t copy);

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  // The fields below are guarded by mutex_.
  absl::Status error_;
  std::function<void()> in_allocate_;
  std::uint64_t allocated_ = 0;
  // Number of the last copy that was made.
  std::uint64_t done_ = 0;
  // Copies that are not made yet; the first has the number done_ + 1.
  std::deque<Copy> queued_;
  std::set<void*> registered_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_FAKE_GPU_H_
