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

struct ShardScanOptions {
  std::size_t shards_at_once = 16;  // at least 1; each has one read in flight
  ReadSizes read_sizes;
  std::stop_token stop;  // ends the scan early
  // Where access points of compressed shards are kept. Empty: in memory.
  std::string points_path;
};

// Indexes `shards`, objects beneath `root`, by their headers, which it reads
// from `source`. Reads all of those that are compressed by gzip. The index
// keeps its part of `memory`.
//
// Blocks for the reads, but returns soon after its stop is requested. Reads may
// still be in flight then, and when it returns an error. Errors name the shard:
// those of ShardParser, InflatingParser and of the source. Errors without one:
// CANCELLED: stopped; RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const ShardIndex>> ScanShards(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    const std::vector<Shard>& shards, const FieldChoice& fields,
    const ShardScanOptions& options, base::WorkingMemory& memory);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_SCAN_H_
