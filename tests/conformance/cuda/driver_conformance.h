#ifndef FOREBAY_TESTS_CONFORMANCE_CUDA_DRIVER_CONFORMANCE_H_
#define FOREBAY_TESTS_CONFORMANCE_CUDA_DRIVER_CONFORMANCE_H_

#include <functional>
#include <memory>

#include "cuda/driver.h"
#include "tests/catch/suite.h"

namespace forebay::cuda {

// The contract of Driver, as tests. Every driver is a subject of the suite:
// const tests::RunsOn<DriverConformance> kName({{"name", &MakeDriver}});
class DriverConformance {
 public:
  using Subject = std::function<std::unique_ptr<Driver>()>;

  explicit DriverConformance(const Subject& make) : driver_(make()) {}

 protected:
  const std::unique_ptr<Driver> driver_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_TESTS_CONFORMANCE_CUDA_DRIVER_CONFORMANCE_H_
