#ifndef FOREBAY_SERVER_DATASET_LISTING_REMOTE_FILE_LIST_H_
#define FOREBAY_SERVER_DATASET_LISTING_REMOTE_FILE_LIST_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::listing {

// Returns the objects that `patterns` name below `root`, in their present
// versions, by the rules of ListFiles. An object that is named in full takes a
// request of its own; several requests are made at a time. If any pattern has
// '*', '?' or '[…]', all objects below the root are listed, but only once for
// all patterns. Counts the objects in `memory`.
//
// Blocks for the network, but returns soon after `stop` is requested. Errors
// name the pattern or object. NOT_FOUND: there is no such object.
// INVALID_ARGUMENT: a pattern is malformed. RESOURCE_EXHAUSTED: `memory` cannot
// grow. Others: those of the lister.
absl::StatusOr<std::vector<storage::ListedObject>> ListRemoteFiles(
    storage::ObjectLister& lister, const storage::Root& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::listing

#endif  // FOREBAY_SERVER_DATASET_LISTING_REMOTE_FILE_LIST_H_
