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

// The objects that `patterns` name below `root`, and their present versions, as
// ListShards does with files. Objects that are named are asked for one by one,
// several at a time; a pattern with '*', '?' or '[…]' takes a list of all that
// lies below the root.
//
// Blocks for the network, but not for long once `stop` is requested. Errors
// name the pattern or object: NOT_FOUND, INVALID_ARGUMENT (a malformed
// pattern), RESOURCE_EXHAUSTED (that of `memory`, in which the objects are
// counted), those of the lister.
absl::StatusOr<std::vector<Shard>> ListRemoteShards(
    storage::ObjectLister& lister, const storage::Root& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_REMOTE_SHARD_LIST_H_
