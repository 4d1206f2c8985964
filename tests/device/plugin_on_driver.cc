#include "tests/device/plugin_on_driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <utility>

#include "cuda/plugin.h"
#include "tests/device/device_fixture.h"

namespace forebay::device_tests {

std::unique_ptr<cuda::Driver> OpenPluginOnDriver() {
  // A library that is loaded is found by its own name, libcuda.so.1.
  EXPECT_NE(dlopen(DriverLibrary().c_str(), RTLD_NOW | RTLD_GLOBAL), nullptr)
      << dlerror();
  auto driver = cuda::OpenPlugin("cuda/libforebay_cuda.so");
  EXPECT_TRUE(driver.ok()) << driver.status();
  return driver.ok() ? *std::move(driver) : nullptr;
}

}  // namespace forebay::device_tests
