#ifndef FOREBAY_TESTS_CONFORMANCE_CUDA_GPU_CONFORMANCE_H_
#define FOREBAY_TESTS_CONFORMANCE_CUDA_GPU_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/device.h"

namespace forebay::cuda {

// Instantiate it with a function that makes a driver with at least one GPU.
class GpuConformanceTest
    : public testing::TestWithParam<std::unique_ptr<Driver> (*)()> {
 protected:
  void SetUp() override;

  // Memory of a GPU; fails the test if there is none.
  std::unique_ptr<GpuMemory> Allocate(std::uint64_t bytes);
  std::vector<std::uint8_t> Read(const GpuMemory& memory, std::uint64_t offset,
                                 std::size_t bytes);

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_TESTS_CONFORMANCE_CUDA_GPU_CONFORMANCE_H_
