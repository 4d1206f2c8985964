// libforebay_cuda.so, as seen from outside.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "cuda/describe_host.h"
#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost* host, PluginDevice* devices,
                      std::int32_t capacity, char* why, std::size_t why_size) {
  DriverApi api;
  std::string reason;
  if (LoadDriverApi(kDriverLibrary, &api, &reason) &&
      DescribeHost(api, "/sys", host, devices, capacity, &reason)) {
    return 0;
  }
  std::snprintf(why, why_size, "%s", reason.c_str());
  return 1;
}

constexpr Plugin kPlugin = {.version = kPluginVersion, .describe = &Describe};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
