#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ERRORS_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ERRORS_H_

#include <cuda.h>

#include <string_view>

namespace forebay::fake_libcuda {

// The driver's name and description of an error. The functions below are
// thread-safe and never block.
struct ErrorWords {
  CUresult code;
  const char* name;
  const char* text;
};

// Returns the entry of a code; null if the driver does not know the code.
const ErrorWords* FindError(CUresult code);

// Returns the entry of a name; null if no error has this name.
const ErrorWords* FindError(std::string_view name);

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ERRORS_H_
