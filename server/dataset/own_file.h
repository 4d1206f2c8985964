#ifndef FOREBAY_SERVER_DATASET_OWN_FILE_H_
#define FOREBAY_SERVER_DATASET_OWN_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"

// Files that the daemon writes for itself, in directories that only its user
// may write. A file is replaced in one step, so that neither a reader nor a
// crash leaves half of one. Thread-safe. All calls block for the disk; their
// errors name the file.

namespace forebay::dataset {

// Counts the file's bytes in `memory`. NOT_FOUND: there is no file. DATA_LOSS:
// it is not regular, or implausibly large. PERMISSION_DENIED: it belongs to
// another user. RESOURCE_EXHAUSTED: that of `memory`. Others: the disk's.
absl::StatusOr<std::vector<std::uint8_t>> ReadOwnFile(
    const std::string& path, base::WorkingMemory& memory);

// Makes missing directories, for their owner alone. On failure the former file
// is still there.
absl::Status ReplaceOwnFile(const std::string& path, std::string_view bytes);

// Succeeds, too, if there is no file.
absl::Status RemoveOwnFile(const std::string& path);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OWN_FILE_H_
