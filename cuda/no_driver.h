#ifndef FOREBAY_CUDA_NO_DRIVER_H_
#define FOREBAY_CUDA_NO_DRIVER_H_

#include <memory>
#include <string>

#include "cuda/driver.h"

namespace forebay::cuda {

// The driver of a host whose GPUs, if it has any, are out of reach.
// Thread-safe. Owned by the caller. Never blocks. Open fails with NOT_FOUND.
class NoDriver final : public Driver {
 public:
  // Makes an inventory without GPUs. `absence` is Inventory::absence, and must
  // not be empty.
  explicit NoDriver(std::string absence);

  const Inventory& inventory() const override { return inventory_; }
  absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) override;

 private:
  Inventory inventory_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_NO_DRIVER_H_
