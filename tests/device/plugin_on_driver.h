#ifndef FOREBAY_TESTS_DEVICE_PLUGIN_ON_DRIVER_H_
#define FOREBAY_TESTS_DEVICE_PLUGIN_ON_DRIVER_H_

#include <memory>

#include "cuda/device.h"
#include "cuda/plugin_abi.h"

namespace forebay::device_tests {

// Opens libforebay_cuda.so on DriverLibrary(). Fails the test, and returns
// null, if that does not work.
std::unique_ptr<cuda::Driver> OpenPluginOnDriver();

// The same plug-in's own table, after a call of `describe`. Loaded for good.
const cuda::Plugin& PluginOnDriver();

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_PLUGIN_ON_DRIVER_H_
