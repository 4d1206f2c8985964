// A plug-in that was linked against what nobody has.
#include "cuda/plugin_abi.h"

extern "C" const forebay::cuda::Plugin* forebay_nobody_has_this();

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return forebay_nobody_has_this();
}
