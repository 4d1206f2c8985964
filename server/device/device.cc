#include "server/device/device.h"

#include <utility>

#include "server/base/status.h"

namespace forebay::device {

absl::StatusOr<std::shared_ptr<const cuda::GpuMemory>> Device::Allocate(
    std::uint64_t bytes) {
  FOREBAY_ASSIGN_OR_RETURN(std::unique_ptr<cuda::GpuMemory> memory,
                           gpu_->Allocate(bytes));
  // The GPU outlives its memory.
  return std::shared_ptr<const cuda::GpuMemory>(
      memory.release(),
      [gpu = gpu_](const cuda::GpuMemory* freed) { delete freed; });
}

}  // namespace forebay::device
