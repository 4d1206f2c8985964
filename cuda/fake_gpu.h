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

// For tests: a GPU whose memory is the host's. A copy is done by the Wait or
// the Read that needs it, and not before. Thread-safe; owned by the caller;
// nothing blocks.
class FakeGpu final : public Gpu {
 public:
  static constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;

  explicit FakeGpu(std::uint64_t capacity) : capacity_(capacity) {}

  // From the next call on, all fail so; OK ends that.
  void Fail(absl::Status error);
  // Calls this once, in the next Allocate.
  void InAllocate(std::function<void()> call);
  // Bytes that are allocated.
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
  struct Copy {
    std::uint8_t* to;
    const void* from;
    std::uint64_t bytes;
  };
  class Memory;

  void FinishLocked(std::uint64_t copy);

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  absl::Status error_;
  std::function<void()> in_allocate_;
  std::uint64_t allocated_ = 0;
  std::uint64_t done_ = 0;
  std::deque<Copy> queued_;  // the first has the number done_ + 1
  std::set<void*> registered_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_FAKE_GPU_H_
