#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_LIST_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_LIST_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/shard.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset::shards {

// The shards that `patterns` name beneath `root`, and their present versions.
// Braces are expanded (brace_expansion.h), in their order; then '*', '?' and
// '[…]' stand for all files that they fit, as in Python's glob, each pattern's
// in Python's order of names. A shard may be named twice.
//
// Blocks for the disk, until `stop` is requested at the longest. Errors name
// the pattern or path: NOT_FOUND (no file fits), INVALID_ARGUMENT (a malformed
// pattern; no regular file), those of LocalRoot. Without one: CANCELLED: it was
// stopped; RESOURCE_EXHAUSTED: that of `memory`, in which the shards are
// counted.
absl::StatusOr<std::vector<Shard>> ListShards(
    const storage::local::LocalRoot& root,
    const std::vector<std::string>& patterns, base::WorkingMemory& memory,
    const std::stop_token& stop = {});

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_LIST_H_
