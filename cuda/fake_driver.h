#ifndef FOREBAY_CUDA_FAKE_DRIVER_H_
#define FOREBAY_CUDA_FAKE_DRIVER_H_

#include <memory>

#include "cuda/device.h"

namespace forebay::cuda {

// For tests: a host with GPUs that are alike but for their identity, two on
// each NUMA node (fake_gpu.h). Thread-safe; owned by the caller; nothing
// blocks.
class FakeDriver final : public Driver {
 public:
  explicit FakeDriver(int devices);  // at least one

  const Inventory& inventory() const override { return inventory_; }
  absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) override;

 private:
  Inventory inventory_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_FAKE_DRIVER_H_
