#ifndef FOREBAY_CUDA_FAKE_DRIVER_H_
#define FOREBAY_CUDA_FAKE_DRIVER_H_

#include <memory>

#include "cuda/driver.h"

namespace forebay::cuda {

// A host for tests. Its GPUs (fake_gpu.h) differ only in ordinal, UUID, PCI
// address and NUMA node; each NUMA node has two GPUs. Thread-safe. Owned by the
// caller. Never blocks. Open fails with NOT_FOUND for an ordinal that the host
// lacks.
class FakeDriver final : public Driver {
 public:
  // Makes a host of at least one GPU.
  explicit FakeDriver(int devices);

  const Inventory& inventory() const override { return inventory_; }
  absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) override;

 private:
  Inventory inventory_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_FAKE_DRIVER_H_
