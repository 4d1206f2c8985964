#ifndef FOREBAY_SERVER_DATASET_LISTING_FILE_LIST_H_
#define FOREBAY_SERVER_DATASET_LISTING_FILE_LIST_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/storage/local/local_root.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::listing {

// Returns the files that `patterns` name beneath `root`, in their present
// versions. Expands braces (brace_expansion.h), in their order. Then '*', '?'
// and '[…]' stand for all files that they fit, as in Python's glob; each
// pattern's files come in Python's order of names. If none fits, a file is
// taken that has the pattern itself for its name, as in a shell. A file may be
// named twice. Reads a directory once for all patterns that differ in the names
// of its files alone. Counts the files in `memory`.
//
// Blocks for the disk, at most until `stop` is requested. Errors name the
// pattern or path: NOT_FOUND: no file fits; INVALID_ARGUMENT: a malformed
// pattern, or no regular file; those of LocalRoot. Errors without one:
// CANCELLED: stopped; RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::vector<storage::ListedObject>> ListFiles(
    const storage::local::LocalRoot& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop = {});

}  // namespace forebay::dataset::listing

#endif  // FOREBAY_SERVER_DATASET_LISTING_FILE_LIST_H_
