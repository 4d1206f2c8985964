#include "cuda/no_driver.h"

#include <utility>

#include "absl/status/status.h"

namespace forebay::cuda {

NoDriver::NoDriver(std::string absence) {
  inventory_.absence = std::move(absence);
}

absl::StatusOr<std::unique_ptr<Gpu>> NoDriver::Open(int) {
  return absl::NotFoundError("no GPU: " + inventory_.absence);
}

}  // namespace forebay::cuda
