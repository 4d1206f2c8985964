// A plug-in whose driver does not work.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost*, PluginDevice*, std::int32_t, char* why,
                      std::size_t why_size) {
  std::snprintf(why, why_size, "the driver\nis on holiday");
  return 1;
}

constexpr Plugin kPlugin = {
    .version = kPluginVersion, .describe = &Describe, .gpu = {}, .trainer = {}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
