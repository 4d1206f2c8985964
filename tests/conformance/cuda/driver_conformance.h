#ifndef FOREBAY_TESTS_CONFORMANCE_CUDA_DRIVER_CONFORMANCE_H_
#define FOREBAY_TESTS_CONFORMANCE_CUDA_DRIVER_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "cuda/device.h"

namespace forebay::cuda {

// The contract of Driver, as tests: instantiate it for every driver with
// INSTANTIATE_TEST_SUITE_P(Name, DriverConformanceTest,
//                          testing::Values(&MakeDriver));
class DriverConformanceTest : public ::testing::TestWithParam<
                                  std::function<std::unique_ptr<Driver>()>> {
 protected:
  DriverConformanceTest() : driver_(GetParam()()) {}

  const std::unique_ptr<Driver> driver_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_TESTS_CONFORMANCE_CUDA_DRIVER_CONFORMANCE_H_
