#ifndef FOREBAY_CUDA_DESCRIBE_HOST_H_
#define FOREBAY_CUDA_DESCRIBE_HOST_H_

#include <cstdint>
#include <string>

#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// Implements Plugin::describe by calls of the loaded driver library `api`.
// `sys` is the path of /sys, where Linux tells each GPU's NUMA node and the
// driver's version. A node that is missing there becomes -1, and a missing
// version an empty text. Makes no context, and therefore takes no GPU memory.
// Returns false if a driver call failed; `why` is then one clause with the
// driver's words. Thread-safe; blocks as the driver does.
bool DescribeHost(const DriverApi& api, const std::string& sys,
                  PluginHost* host, PluginDevice* devices,
                  std::int32_t capacity, std::string* why);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DESCRIBE_HOST_H_
