// Every driver that needs no GPU keeps the contract.
#include <memory>

#include "cuda/fake_driver.h"
#include "cuda/no_driver.h"
#include "cuda/plugin.h"
#include "tests/conformance/cuda/driver_conformance.h"

namespace forebay::cuda {
namespace {

std::unique_ptr<Driver> MakeNone() {
  return std::make_unique<NoDriver>("this is a test");
}

std::unique_ptr<Driver> MakeFake() { return std::make_unique<FakeDriver>(9); }

std::unique_ptr<Driver> MakePlugin() {
  auto driver = OpenPlugin("tests/unit/cuda/good_plugin.so");
  EXPECT_TRUE(driver.ok()) << driver.status();
  return *std::move(driver);
}

INSTANTIATE_TEST_SUITE_P(None, DriverConformanceTest,
                         testing::Values(&MakeNone));
INSTANTIATE_TEST_SUITE_P(Fake, DriverConformanceTest,
                         testing::Values(&MakeFake));
INSTANTIATE_TEST_SUITE_P(Plugin, DriverConformanceTest,
                         testing::Values(&MakePlugin));

}  // namespace
}  // namespace forebay::cuda
