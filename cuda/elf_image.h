#ifndef FOREBAY_CUDA_ELF_IMAGE_H_
#define FOREBAY_CUDA_ELF_IMAGE_H_

#include <string>

#include "absl/status/status.h"

namespace forebay::cuda {

// Whether the file is a 64-bit ELF image that holds all that it says is to be
// mapped. Thread-safe; blocks for file I/O. Errors, each naming the path:
// NOT_FOUND, PERMISSION_DENIED (it cannot be read), FAILED_PRECONDITION (it is
// no such image, or cut short).
absl::Status CheckElfImage(const std::string& path);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_ELF_IMAGE_H_
