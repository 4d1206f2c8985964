// The fake GPU keeps the contract; the plug-in's: see tests/device.
#include <memory>

#include "cuda/fake_driver.h"
#include "tests/conformance/cuda/gpu_conformance.h"

namespace forebay::cuda {
namespace {

std::unique_ptr<Driver> MakeFake() { return std::make_unique<FakeDriver>(1); }

INSTANTIATE_TEST_SUITE_P(Fake, GpuConformanceTest, testing::Values(&MakeFake));

}  // namespace
}  // namespace forebay::cuda
