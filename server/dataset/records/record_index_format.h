#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/inflated/point_file.h"
#include "server/dataset/records/record_index.h"

// The file of a RecordIndex:
//
//   header       88 bytes: magic "FBYRECRD"; version (3) and zero as u32;
//                numbers of files, of records and of bounds, bytes of names
//                and of the format, numbers of begins and of blocks of keys,
//                bytes of keys, number of lengths u64
//   files        72 bytes each: path_offset, path_length, first_record, begin,
//                size u64; stamp i64; inode u64; ctime i64; mark u64
//   ends         8 bytes each: u64
//   bounds       16 bytes each: shortest, longest u64
//   names        bytes, see FileRecord
//   format       bytes
//   begins       8 bytes each: u64
//   key blocks   8 bytes each: u64
//   keys         bytes, see packed_keys.h
//   lengths      8 bytes each: u64, of records once they are unpacked
//   points       of compressed files alone: 16 bytes, the digest of their
//                access points, see ../inflated/point_file.h
//   checksum     16 bytes: XXH3-128 of all before, in its canonical form
// See index_file.h.

namespace forebay::dataset::records {

// Returns the bytes of the file. Thread-safe; never blocks.
std::string EncodeRecordIndex(const RecordIndex& index);

// Reads the index in `file`, which keeps its part of `memory`, and its access
// points by `find_points`, if it has some. DATA_LOSS: the file is damaged or of
// another version; RESOURCE_EXHAUSTED: that of `memory`; those of `find_points`
// and of reading. Thread-safe; blocks for these.
absl::StatusOr<std::shared_ptr<const RecordIndex>> DecodeRecordIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const inflated::FindPoints& find_points = nullptr);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_FORMAT_H_
