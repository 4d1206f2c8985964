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

// Returns the files that `patterns` name below `root`, in their present
// versions. First expands braces (brace_expansion.h). Each result then matches
// files by '*', '?' and '[…]', as in Python's glob. The files of one pattern
// come in Python's order of names. A pattern that matches no file is taken for
// the name of a file, as in a shell. Several patterns may name the same file;
// it is then returned several times. A directory is read only once for all
// patterns that differ only in the file's name. Counts the files in `memory`.
//
// Blocks for the disk until it is done or `stop` is requested. These errors
// name the pattern or path. NOT_FOUND: no file matches. INVALID_ARGUMENT: a
// pattern is malformed, or a file is not regular. Others: those of LocalRoot.
// These errors name neither. CANCELLED: the listing was stopped.
// RESOURCE_EXHAUSTED: `memory` cannot grow.
absl::StatusOr<std::vector<storage::ListedObject>> ListFiles(
    const storage::local::LocalRoot& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop = {});

}  // namespace forebay::dataset::listing

#endif  // FOREBAY_SERVER_DATASET_LISTING_FILE_LIST_H_
