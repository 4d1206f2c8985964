// A plug-in that needs a symbol which no library has.
#include "cuda/plugin_abi.h"

extern "C" const forebay::cuda::Plugin* forebay_nobody_has_this();

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return forebay_nobody_has_this();
}
