#ifndef FOREBAY_SERVER_DEVICE_DEVICE_H_
#define FOREBAY_SERVER_DEVICE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "cuda/device.h"
#include "cuda/gpu.h"
#include "server/base/memory_budget.h"
#include "server/device/copier.h"
#include "server/device/staging_memory.h"

namespace forebay::device {

// A GPU that loaders have their batches on: this process's context there, the
// budget of the slots' memory, and the copies.
//
// Thread-safe. Shared by the loaders, and by what lies in its memory. Allocate
// and destruction block for the driver, Read for the GPU. Errors: those of
// cuda::Gpu.
class Device {
 public:
  // `memory`: bytes of its slots, at most. `copier`: of this GPU.
  Device(cuda::DeviceInfo info, std::shared_ptr<cuda::Gpu> gpu,
         std::unique_ptr<Copier> copier, std::uint64_t memory)
      : info_(std::move(info)),
        gpu_(std::move(gpu)),
        budget_(memory),
        copier_(std::move(copier)) {}

  const cuda::DeviceInfo& info() const { return info_; }
  const std::shared_ptr<cuda::Gpu>& gpu() const { return gpu_; }
  base::MemoryBudget& budget() { return budget_; }
  Copier& copier() { return *copier_; }

  // Makes memory that keeps the GPU open. The caller has reserved it. Errors
  // are for jobs.
  absl::StatusOr<std::shared_ptr<const cuda::GpuMemory>> Allocate(
      std::uint64_t bytes);
  absl::StatusOr<std::shared_ptr<StagingMemory>> MakeStaging(
      std::uint64_t bytes, bool has_writers = false);

  // An error of this GPU's in words for jobs: names it, and is INTERNAL where
  // the GPU is lost, as DATA_LOSS is said of samples. Notes that loss.
  absl::Status ForJobs(const absl::Status& status);

 private:
  const cuda::DeviceInfo info_;
  const std::shared_ptr<cuda::Gpu> gpu_;
  base::MemoryBudget budget_;
  const std::unique_ptr<Copier> copier_;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_DEVICE_H_
