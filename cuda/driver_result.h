#ifndef FOREBAY_CUDA_DRIVER_RESULT_H_
#define FOREBAY_CUDA_DRIVER_RESULT_H_

#include <cuda.h>

#include <string>

#include "cuda/driver_api.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// Whether NVIDIA's driver refuses all further GPU calls of this process once it
// has returned `error`. cuda.h says of such errors that they end the context,
// or that "the process must be terminated".
bool IsLoss(CUresult error);

// Returns the PluginResult that a driver's error becomes for the plug-in's
// callers.
PluginResult ResultOf(CUresult error);

// Returns ResultOf(error). Unless `error` is CUDA_SUCCESS, sets `why` to `what`
// and the driver's words; `what` names the step that failed.
PluginResult Explain(const DriverApi& api, const char* what, CUresult error,
                     std::string* why);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DRIVER_RESULT_H_
