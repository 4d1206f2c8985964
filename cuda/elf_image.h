#ifndef FOREBAY_CUDA_ELF_IMAGE_H_
#define FOREBAY_CUDA_ELF_IMAGE_H_

#include <string>

namespace forebay::cuda {

// The fault that CheckElfImage finds in a file.
enum class ElfFault {
  kNone,
  // There is no such file.
  kMissing,
  // The file cannot be read.
  kUnreadable,
  // The file is not a 64-bit ELF image, or is cut short.
  kUnfit,
};

// The outcome of a check.
struct ElfVerdict {
  ElfFault fault = ElfFault::kNone;
  // Reason, which names the path; empty if there is no fault.
  std::string why;
};

// Checks that a file is a 64-bit ELF image, and that it has all bytes which its
// program headers list. The loader maps the listed bytes without a check, so a
// file that was cut short would end the process by SIGBUS. Thread-safe; blocks
// for file I/O; no other errors.
ElfVerdict CheckElfImage(const std::string& path);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_ELF_IMAGE_H_
