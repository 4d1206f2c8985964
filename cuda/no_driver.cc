#include "cuda/no_driver.h"

#include <utility>

namespace forebay::cuda {

NoDriver::NoDriver(std::string absence) {
  inventory_.absence = std::move(absence);
}

}  // namespace forebay::cuda
