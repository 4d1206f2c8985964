#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_SCAN_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_SCAN_H_

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/shard_parser.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::shards {

// How shards are scanned.
struct ShardScanOptions {
  std::size_t shards_at_once = 16;  // at least 1; each has one read in flight
  ReadSizes read_sizes;
  std::stop_token stop;  // ends the scan early
  // The path of the file that keeps the access points of compressed shards. If
  // it is empty, access points are kept in memory.
  std::string points_path;
};

// Indexes `shards`, which are objects below `root`. Reads only the headers of
// their tar archives, from `source`; but shards that are compressed as a whole
// are read and decompressed in full. The index gets its own reservation from
// `memory`.
//
// Blocks for the reads, but returns soon after `options.stop` is requested.
// After a stop or an error, reads may still be in flight when it returns.
// Errors of ShardParser, DecompressingParser and the source name the shard.
// CANCELLED: the scan was stopped. RESOURCE_EXHAUSTED: `memory` cannot grow.
absl::StatusOr<std::shared_ptr<const ShardIndex>> ScanShards(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    const std::vector<Shard>& shards, const FieldChoice& fields,
    const ShardScanOptions& options, base::WorkingMemory& memory);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_SCAN_H_
