#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ERRORS_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ERRORS_H_

#include <cuda.h>

#include <string_view>

namespace forebay::fake_libcuda {

// The driver's words for an error. Thread-safe; never blocks.
struct ErrorWords {
  CUresult code;
  const char* name;
  const char* text;
};

// Null: the driver does not know the code.
const ErrorWords* FindError(CUresult code);

// Null: no error has this name.
const ErrorWords* FindError(std::string_view name);

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ERRORS_H_
