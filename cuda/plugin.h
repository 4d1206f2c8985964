#ifndef FOREBAY_CUDA_PLUGIN_H_
#define FOREBAY_CUDA_PLUGIN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cuda/driver.h"

namespace forebay::cuda {

// Loads the plug-in at `path` (libforebay_cuda.so: see plugin_abi.h) and opens
// the host's GPUs with it. The returned driver has at least one GPU. The
// plug-in stays loaded as long as the driver lives.
//
// Thread-safe. Blocks for the file, and for the driver, which may take seconds
// to initialise its GPUs. An error's message is one clause. NOT_FOUND: there is
// no such file. PERMISSION_DENIED: the file cannot be read.
// FAILED_PRECONDITION: the file is not a whole library, or not a plug-in of
// this version. UNAVAILABLE: there is no driver or no GPU, or the driver
// refuses.
absl::StatusOr<std::unique_ptr<Driver>> OpenPlugin(const std::string& path);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_PLUGIN_H_
