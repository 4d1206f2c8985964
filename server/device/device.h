#ifndef FOREBAY_SERVER_DEVICE_DEVICE_H_
#define FOREBAY_SERVER_DEVICE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "cuda/driver.h"
#include "cuda/gpu.h"
#include "server/base/memory_budget.h"
#include "server/device/copier.h"
#include "server/device/staging_memory.h"

namespace forebay::device {

// A GPU in whose memory loaders have their batches: this process's context on
// the GPU, the budget for slots, and the queue of copies.
//
// Thread-safe. Loaders and objects in the GPU's memory share its ownership.
// Allocate, MakeStaging and destruction block for the driver. Errors are those
// of cuda::Gpu, as ForJobs changes them.
class Device {
 public:
  // `memory` is the most bytes that all slots on the GPU may take together.
  // `copier` copies to `gpu`.
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

  // Makes GPU memory, which keeps the GPU open. The caller has reserved the
  // bytes in budget().
  absl::StatusOr<std::shared_ptr<const cuda::GpuMemory>> Allocate(
      std::uint64_t bytes);
  // Makes staging memory on the GPU's NUMA node. `has_writers` is passed to
  // StagingMemory::Create.
  absl::StatusOr<std::shared_ptr<StagingMemory>> MakeStaging(
      std::uint64_t bytes, bool has_writers = false);

  // Returns an error of this GPU as jobs get it: the message names the GPU.
  // DATA_LOSS, which says that the GPU is lost, becomes INTERNAL, because to
  // jobs DATA_LOSS means a damaged sample. The copier's Lose is then called.
  absl::Status ForJobs(const absl::Status& status);

 private:
  const cuda::DeviceInfo info_;
  const std::shared_ptr<cuda::Gpu> gpu_;
  base::MemoryBudget budget_;
  const std::unique_ptr<Copier> copier_;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_DEVICE_H_
