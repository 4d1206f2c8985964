// Tests of the real libforebay_cuda.so, with the driver and GPUs of this
// machine.
#include <dlfcn.h>

#include <memory>

#include "cuda/no_driver.h"
#include "cuda/plugin.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/conformance/cuda/driver_conformance.h"

namespace forebay::cuda {
namespace {

using tests::HasCode;
using tests::StartsWith;

constexpr char kPlugin[] = "cuda/libforebay_cuda.so";

std::unique_ptr<Driver> MakeReal() {
  auto driver = OpenPlugin(kPlugin);
  if (driver.ok()) return *std::move(driver);
  CHECK_THAT(driver, HasCode(absl::StatusCode::kUnavailable));
  return std::make_unique<NoDriver>(std::string(driver.status().message()));
}

const tests::RunsOn<DriverConformance> kReal({{"real", &MakeReal}});

TEST_CASE("The real GPU plug-in says that the host has no NVIDIA driver",
          "[cuda][real_plugin]") {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
    dlclose(driver);
    SKIP("this machine has a driver");
  }
  const auto opened = OpenPlugin(kPlugin);
  CHECK_THAT(opened, HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(
      opened.status().message(),
      StartsWith("no NVIDIA driver is installed (libcuda.so.1: cannot open"));
}

}  // namespace
}  // namespace forebay::cuda
