// The conformance suite on every driver that needs no GPU.
#include <memory>

#include "cuda/fake_driver.h"
#include "cuda/no_driver.h"
#include "cuda/plugin.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/cuda/driver_conformance.h"

namespace forebay::cuda {
namespace {

using tests::IsOk;

std::unique_ptr<Driver> MakeNone() {
  return std::make_unique<NoDriver>("this is a test");
}

std::unique_ptr<Driver> MakeFake() { return std::make_unique<FakeDriver>(9); }

std::unique_ptr<Driver> MakePlugin() {
  auto driver = OpenPlugin("tests/unit/cuda/good_plugin.so");
  CHECK_THAT(driver, IsOk());
  return *std::move(driver);
}

const tests::RunsOn<DriverConformance> kNone({{"none", &MakeNone}});
const tests::RunsOn<DriverConformance> kFake({{"fake", &MakeFake}});
const tests::RunsOn<DriverConformance> kPlugin({{"plug-in", &MakePlugin}});

}  // namespace
}  // namespace forebay::cuda
