#ifndef FOREBAY_CUDA_ELF_IMAGE_H_
#define FOREBAY_CUDA_ELF_IMAGE_H_

#include <string>

namespace forebay::cuda {

enum class ElfFault {
  kNone,
  kMissing,     // there is no such file
  kUnreadable,  // it cannot be read
  kUnfit,       // it is no such image, or cut short
};

struct ElfVerdict {
  ElfFault fault = ElfFault::kNone;
  std::string why;  // names the path; empty if there is no fault
};

// Whether the file is a 64-bit ELF image that holds all that it says is to be
// mapped. The loader maps what the headers promise: a file that was cut short
// would end the process by SIGBUS. Thread-safe; blocks for file I/O; no other
// errors.
ElfVerdict CheckElfImage(const std::string& path);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_ELF_IMAGE_H_
