#ifndef FOREBAY_TESTS_CONFORMANCE_CUDA_GPU_CONFORMANCE_H_
#define FOREBAY_TESTS_CONFORMANCE_CUDA_GPU_CONFORMANCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/driver.h"
#include "tests/catch/suite.h"

namespace forebay::cuda {

// The contract of Gpu, as tests. Every driver with at least one GPU is a
// subject of the suite: const tests::RunsOn<GpuConformance> kName({{"name",
// &MakeDriver}});
class GpuConformance {
 public:
  using Subject = std::unique_ptr<Driver> (*)();

  explicit GpuConformance(Subject make);

 protected:
  // Returns memory of a GPU. Fails the test if the GPU has none left.
  std::unique_ptr<GpuMemory> Allocate(std::uint64_t bytes);
  std::vector<std::uint8_t> Read(const GpuMemory& memory, std::uint64_t offset,
                                 std::size_t bytes);

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace forebay::cuda

#endif  // FOREBAY_TESTS_CONFORMANCE_CUDA_GPU_CONFORMANCE_H_
