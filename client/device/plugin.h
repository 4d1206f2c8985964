#ifndef FOREBAY_CLIENT_DEVICE_PLUGIN_H_
#define FOREBAY_CLIENT_DEVICE_PLUGIN_H_

#include <string>

#include "client/base/status.h"
#include "cuda/plugin_abi.h"

namespace forebay::client::device {

// Loads the GPU plug-in, libforebay_cuda.so, once for the process and for good.
// $FOREBAY_CUDA_PLUGIN names the file, if that variable is set. If it is not
// set, the plug-in lies beside the library that contains this function (in a
// wheel), or in ../lib/forebay relative to that library (tools/install).
//
// Thread-safe. Blocks for file I/O. Errors: UNIMPLEMENTED if there is no such
// file, or if it cannot be loaded, is not a plug-in or has another version.
Status LoadPlugin(const cuda::Plugin** out);

// Loads the plug-in at `path` for good. Blocks and fails as LoadPlugin does.
Status OpenPlugin(const std::string& path, const cuda::Plugin** out);

}  // namespace forebay::client::device

#endif  // FOREBAY_CLIENT_DEVICE_PLUGIN_H_
