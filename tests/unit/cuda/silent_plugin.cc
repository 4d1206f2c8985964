// A plug-in that fails and does not say why.
#include <cstddef>
#include <cstdint>

#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost*, PluginDevice*, std::int32_t, char*,
                      std::size_t) {
  return -1;
}

constexpr Plugin kPlugin = {
    .version = kPluginVersion, .describe = &Describe, .gpu = {}, .trainer = {}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
