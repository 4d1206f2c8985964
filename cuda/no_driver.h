#ifndef FOREBAY_CUDA_NO_DRIVER_H_
#define FOREBAY_CUDA_NO_DRIVER_H_

#include <memory>
#include <string>

#include "cuda/device.h"

namespace forebay::cuda {

// For a host whose GPUs, if it has any, are out of reach. Thread-safe; owned by
// the caller; nothing blocks. Open fails.
class NoDriver final : public Driver {
 public:
  // `absence` must not be empty: see Inventory.
  explicit NoDriver(std::string absence);

  const Inventory& inventory() const override { return inventory_; }
  absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) override;

 private:
  Inventory inventory_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_NO_DRIVER_H_
