// The conformance suite on the fake GPU. tests/device runs the suite on the
// plug-in.
#include <memory>

#include "cuda/fake_driver.h"
#include "tests/conformance/cuda/gpu_conformance.h"

namespace forebay::cuda {
namespace {

std::unique_ptr<Driver> MakeFake() { return std::make_unique<FakeDriver>(1); }

const tests::RunsOn<GpuConformance> kFake({{"fake", &MakeFake}});

}  // namespace
}  // namespace forebay::cuda
