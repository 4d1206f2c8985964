#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/inflated/point_file.h"
#include "server/dataset/shards/shard_index.h"

// The file of a ShardIndex:
//
//   header       72 bytes: magic "FBYSHARD"; version (5) and zero as u32;
//                numbers of shards, of members, of alternatives and of inflated
//                members, bytes of names, of fields and of keys u64
//   shards       64 bytes each: path_offset, path_length, first_sample,
//                keys_offset, size u64; stamp i64; inode u64; ctime i64
//   members      8 bytes each: block, length u32
//   alternatives 1 byte each
//   inflated     4 bytes each: length u32
//   names        bytes, see ShardRecord
//   keys         bytes, see KeyList
//   fields       text, with slashes between
//   points       of compressed files alone: 16 bytes, the digest of their
//   points checksum     16 bytes: XXH3-128 of all before, in its canonical form
// See index_file.h.

namespace forebay::dataset::shards {

// Returns the bytes of the file. Thread-safe; never blocks.
std::string EncodeShardIndex(const ShardIndex& index);

// Reads the index in `file`, which keeps its part of `memory`, and its access
// points by `find_points`, if it has some. DATA_LOSS: the file is damaged or of
// another version; RESOURCE_EXHAUSTED: that of `memory`; those of `find_points`
// and of reading. Thread-safe; blocks for these.
absl::StatusOr<std::shared_ptr<const ShardIndex>> DecodeShardIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const inflated::FindPoints& find_points = nullptr);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_FORMAT_H_
