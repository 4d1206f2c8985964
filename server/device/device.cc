#include "server/device/device.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::device {

absl::StatusOr<std::shared_ptr<const cuda::GpuMemory>> Device::Allocate(
    std::uint64_t bytes) {
  auto memory = gpu_->Allocate(bytes);
  if (!memory.ok()) return ForJobs(memory.status());
  // The deleter holds `gpu_`, because a Gpu must outlive its memory.
  return std::shared_ptr<const cuda::GpuMemory>(
      memory->release(),
      [gpu = gpu_](const cuda::GpuMemory* freed) { delete freed; });
}

absl::StatusOr<std::shared_ptr<StagingMemory>> Device::MakeStaging(
    std::uint64_t bytes, bool has_writers) {
  auto memory =
      StagingMemory::Create(gpu_, info_.numa_node, bytes, has_writers);
  if (!memory.ok()) return ForJobs(memory.status());
  return memory;
}

absl::Status Device::ForJobs(const absl::Status& status) {
  if (status.ok()) return status;
  const std::string words =
      absl::StrCat("GPU ", info_.ordinal, ": ", status.message());
  if (!absl::IsDataLoss(status)) return absl::Status(status.code(), words);
  copier_->Lose(status);
  return absl::InternalError(words);
}

}  // namespace forebay::device
