#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/compressed/point_file.h"
#include "server/dataset/index_file.h"
#include "server/dataset/shards/shard_index.h"

// The file of a ShardIndex:
//
//   header       72 bytes: magic "FBYSHARD"; version (5) and zero as u32;
//                numbers of shards, of members, of alternatives and of
//                decompressed members, bytes of names, of fields and of keys
//                u64
//   shards       64 bytes each: path_offset, path_length, first_sample,
//                keys_offset, size u64; stamp i64; inode u64; ctime i64
//   members      8 bytes each: block, length u32
//   alternatives 1 byte each
//   decompressed 4 bytes each: decompressed length u32
//   names        bytes, see ShardRecord
//   keys         bytes, see KeyList
//   fields       text, with slashes between
//   points       if shards are compressed, 16 bytes: the digest of their
//                access points, see ../compressed/point_file.h
//   checksum     16 bytes: XXH3-128 of all bytes before, in canonical form
//
// See index_file.h.

namespace forebay::dataset::shards {

// Returns the content of the index's file. Thread-safe; never blocks.
std::string EncodeShardIndex(const ShardIndex& index);

// Reads the index in `file`. If the index has access points, gets them by
// `find_points`. The index gets its own reservation from `memory`. DATA_LOSS:
// the file is damaged, or has another version of the file format.
// RESOURCE_EXHAUSTED: `memory` cannot grow. Others: those of `find_points` and
// of reading. Thread-safe; blocks for the disk.
absl::StatusOr<std::shared_ptr<const ShardIndex>> DecodeShardIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const compressed::FindPoints& find_points = nullptr);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_FORMAT_H_
