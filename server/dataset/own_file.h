#ifndef FOREBAY_SERVER_DATASET_OWN_FILE_H_
#define FOREBAY_SERVER_DATASET_OWN_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"

// Files that the daemon keeps for itself, in directories that only its user may
// write. A file is replaced in one step, so that a reader or a crash never
// finds half of one. Thread-safe. All calls block for the disk; their errors
// name the file.

namespace forebay::dataset {

// Counts its bytes in `memory`. NOT_FOUND: there is none. DATA_LOSS: it is no
// regular file, or implausibly large. PERMISSION_DENIED: it belongs to somebody
// else. RESOURCE_EXHAUSTED: that of `memory`. Others: the disk's.
absl::StatusOr<std::vector<std::uint8_t>> ReadOwnFile(
    const std::string& path, base::WorkingMemory& memory);

// Makes the directory, for its owner alone, where it lacks. On failure what was
// kept before is still there.
absl::Status ReplaceOwnFile(const std::string& path, std::string_view bytes);

// OK, too, if there is none.
absl::Status RemoveOwnFile(const std::string& path);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OWN_FILE_H_
