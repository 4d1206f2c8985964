#ifndef FOREBAY_CUDA_DESCRIBE_HOST_H_
#define FOREBAY_CUDA_DESCRIBE_HOST_H_

#include <cstdint>
#include <string>

#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// Implements Plugin::describe with a driver that is loaded. `sys` is /sys:
// it knows the NUMA node of a PCI device, and the driver's own version, under
// every driver; what it does not know stays -1 or empty. Makes no context, so
// takes no memory of a GPU. Thread-safe; blocks as the driver does. False, and
// one clause in `why` that has the driver's own words: a call failed.
bool DescribeHost(const DriverApi& api, const std::string& sys,
                  PluginHost* host, PluginDevice* devices,
                  std::int32_t capacity, std::string* why);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DESCRIBE_HOST_H_
