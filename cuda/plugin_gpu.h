#ifndef FOREBAY_CUDA_PLUGIN_GPU_H_
#define FOREBAY_CUDA_PLUGIN_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cuda/gpu.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {

// Opens a GPU through `calls`, the functions of a plug-in, which must outlive
// the result. Blocking and errors are as Driver::Open says.
absl::StatusOr<std::unique_ptr<Gpu>> OpenPluginGpu(const PluginGpuCalls& calls,
                                                   int ordinal);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_PLUGIN_GPU_H_
