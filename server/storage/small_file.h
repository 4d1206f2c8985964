#ifndef FOREBAY_SERVER_STORAGE_SMALL_FILE_H_
#define FOREBAY_SERVER_STORAGE_SMALL_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace forebay::storage {

// Returns the content of a file of credentials or settings. Thread-safe. Blocks
// for file I/O, but not for the writer of a pipe. Errors name the file:
// INVALID_ARGUMENT (it is longer than 64 KiB), and errno's.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_SMALL_FILE_H_
