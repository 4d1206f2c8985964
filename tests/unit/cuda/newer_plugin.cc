// A plug-in of a later build. Any fields may follow its version.
#include <cstdint>

#include "cuda/plugin_abi.h"

namespace {

struct LaterPlugin {
  std::uint32_t version;
};
constexpr LaterPlugin kPlugin = {forebay::cuda::kPluginVersion + 1};

}  // namespace

extern "C" const LaterPlugin* forebay_cuda_plugin() { return &kPlugin; }
