// Tests that the plug-in fulfils the contract of cuda::Gpu, on a GPU or on the
// fake driver.
#include "tests/conformance/cuda/gpu_conformance.h"
#include "tests/device/plugin_on_driver.h"

namespace forebay::cuda {
namespace {

const tests::RunsOn<GpuConformance> kPlugin(
    {{"plug-in", &device_tests::OpenPluginOnDriver}});

}  // namespace
}  // namespace forebay::cuda
