// libforebay_cuda.so itself, with whatever driver and GPUs this machine has.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <memory>

#include "cuda/no_driver.h"
#include "cuda/plugin.h"
#include "tests/conformance/cuda/driver_conformance.h"

namespace forebay::cuda {
namespace {

using ::testing::StartsWith;

constexpr char kPlugin[] = "cuda/libforebay_cuda.so";

std::unique_ptr<Driver> MakeReal() {
  auto driver = OpenPlugin(kPlugin);
  if (driver.ok()) return *std::move(driver);
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kUnavailable)
      << driver.status();
  return std::make_unique<NoDriver>(std::string(driver.status().message()));
}

INSTANTIATE_TEST_SUITE_P(Real, DriverConformanceTest,
                         testing::Values(&MakeReal));

TEST(RealPluginTest, SaysThatThereIsNoDriver) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
    dlclose(driver);
    GTEST_SKIP() << "this machine has a driver";
  }
  const auto opened = OpenPlugin(kPlugin);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(
      std::string(opened.status().message()),
      StartsWith("no NVIDIA driver is installed (libcuda.so.1: cannot open"));
}

}  // namespace
}  // namespace forebay::cuda
