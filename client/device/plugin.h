#ifndef FOREBAY_CLIENT_DEVICE_PLUGIN_H_
#define FOREBAY_CLIENT_DEVICE_PLUGIN_H_

#include <string>

#include "client/base/status.h"
#include "cuda/plugin_abi.h"

namespace forebay::client::device {

// Loads the GPU plug-in, libforebay_cuda.so, once for the process and for good.
// It is the file that $FOREBAY_CUDA_PLUGIN names, if that is set. Else it is
// the one beside the library that has this function (a wheel), else the one in
// ../lib/forebay from there (tools/install).
//
// Thread-safe. Blocks for file I/O. Errors: UNIMPLEMENTED if there is no such
// file, or it cannot be loaded, is no plug-in or has another version.
Status LoadPlugin(const cuda::Plugin** out);

// Loads the plug-in at `path` for good. As above.
Status OpenPlugin(const std::string& path, const cuda::Plugin** out);

}  // namespace forebay::client::device

#endif  // FOREBAY_CLIENT_DEVICE_PLUGIN_H_
