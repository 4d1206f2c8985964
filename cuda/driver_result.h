#ifndef FOREBAY_CUDA_DRIVER_RESULT_H_
#define FOREBAY_CUDA_DRIVER_RESULT_H_

#include <cuda.h>

#include <string>

#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// Whether NVIDIA's driver refuses all that the process asks of its GPUs after
// this error: each stands in cuda.h with "the process must be terminated", or
// ends the context.
bool IsLoss(CUresult error);

// Returns the result that an error means to the plug-in's callers.
PluginResult ResultOf(CUresult error);

// The same; `why` says, unless it is a success, what went wrong, with the
// driver's words.
PluginResult Explain(const DriverApi& api, const char* what, CUresult error,
                     std::string* why);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DRIVER_RESULT_H_
