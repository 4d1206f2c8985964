// A plug-in whose fields all have invalid contents.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost* host, PluginDevice* devices, std::int32_t,
                      char*, std::size_t) {
  std::memset(host, 1, sizeof(*host));
  host->device_count = 1;
  std::memset(devices, 0xFF, sizeof(*devices));
  return 0;
}

constexpr Plugin kPlugin = {
    .version = kPluginVersion, .describe = &Describe, .gpu = {}, .trainer = {}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
