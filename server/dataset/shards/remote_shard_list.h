#ifndef FOREBAY_SERVER_DATASET_SHARDS_REMOTE_SHARD_LIST_H_
#define FOREBAY_SERVER_DATASET_SHARDS_REMOTE_SHARD_LIST_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/shard.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::shards {

// Returns the objects that `patterns` name below `root`, in their present
// versions, as ListShards does with files. Asks for named objects one by one,
// several at a time. A pattern with '*', '?' or '[…]' takes a list of all
// objects below the root. Counts the objects in `memory`.
//
// Blocks for the network, but returns soon after `stop` is requested. Errors
// name the pattern or object: NOT_FOUND; INVALID_ARGUMENT: a malformed pattern;
// RESOURCE_EXHAUSTED: that of `memory`; those of the lister.
absl::StatusOr<std::vector<Shard>> ListRemoteShards(
    storage::ObjectLister& lister, const storage::Root& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_REMOTE_SHARD_LIST_H_
