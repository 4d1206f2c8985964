#ifndef FOREBAY_CUDA_PLUGIN_H_
#define FOREBAY_CUDA_PLUGIN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cuda/device.h"

namespace forebay::cuda {

// Loads the plug-in at `path` (libforebay_cuda.so: see plugin_abi.h) and opens
// the host's GPUs with it. The returned driver has at least one GPU; the
// plug-in stays loaded as long as the driver lives.
//
// Thread-safe. Blocks: for the file, and for the driver, which may take seconds
// to wake its GPUs. Errors, each one clause: NOT_FOUND (no such file);
// PERMISSION_DENIED, FAILED_PRECONDITION (the file: it cannot be read, is no
// whole library, no plug-in, or one of another version); UNAVAILABLE (no
// driver, no GPU, or the driver refuses).
absl::StatusOr<std::unique_ptr<Driver>> OpenPlugin(const std::string& path);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_PLUGIN_H_
