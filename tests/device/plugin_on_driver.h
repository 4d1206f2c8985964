#ifndef FOREBAY_TESTS_DEVICE_PLUGIN_ON_DRIVER_H_
#define FOREBAY_TESTS_DEVICE_PLUGIN_ON_DRIVER_H_

#include <memory>

#include "cuda/driver.h"
#include "cuda/plugin_abi.h"

namespace forebay::device_tests {

// Opens libforebay_cuda.so on DriverLibrary(). Fails the test, and returns
// null, if that does not work.
std::unique_ptr<cuda::Driver> OpenPluginOnDriver();

// Calls `describe` of the same plug-in, and returns the plug-in's own table.
// The plug-in stays loaded.
const cuda::Plugin& PluginOnDriver();

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_PLUGIN_ON_DRIVER_H_
