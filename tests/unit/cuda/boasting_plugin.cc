// A plug-in that claims more GPUs than it was given room for.
#include <cstddef>
#include <cstdint>

#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost* host, PluginDevice*, std::int32_t capacity,
                      char*, std::size_t) {
  host->device_count = capacity + 1;
  return 0;
}

constexpr Plugin kPlugin = {
    .version = kPluginVersion, .describe = &Describe, .gpu = {}, .trainer = {}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
