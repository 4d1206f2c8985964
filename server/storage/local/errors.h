#ifndef FOREBAY_SERVER_STORAGE_LOCAL_ERRORS_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_ERRORS_H_

#include <string_view>

#include "absl/status/status.h"

namespace forebay::storage::local {

// Returns the error "<path>: <reason>". Thread-safe; never blocks.
absl::Status FileError(absl::StatusCode code, std::string_view path,
                       std::string_view reason);

// Returns the error of a failed system call, with the code that ByteSource's
// contract gives it. A fault that may pass is UNAVAILABLE.
absl::Status FileError(int error_number, std::string_view path);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_ERRORS_H_
