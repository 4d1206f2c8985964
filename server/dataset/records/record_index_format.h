#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/compressed/point_file.h"
#include "server/dataset/index_file.h"
#include "server/dataset/records/record_index.h"

// The file of a RecordIndex:
//
//   header       88 bytes: magic "FBYRECRD"; version (3) and zero as u32;
//                numbers of files, of records and of bounds, bytes of names
//                and of the format, numbers of begins and of blocks of keys,
//                bytes of keys, number of lengths u64
//   files        72 bytes each: path_offset, path_length, first_record, begin,
//                size u64; stamp i64; inode u64; ctime i64; transaction_id u64
//   ends         8 bytes each: u64
//   bounds       16 bytes each: shortest, longest u64
//   names        bytes, see FileRecord
//   format       bytes
//   begins       8 bytes each: u64
//   key blocks   8 bytes each: u64
//   keys         bytes, see compressed_keys.h
//   lengths      8 bytes each: u64, of records once they are decompressed
//   points       if files are compressed, 16 bytes: the digest of their
//                access points, see ../compressed/point_file.h
//   checksum     16 bytes: XXH3-128 of all bytes before, in canonical form
// See index_file.h.

namespace forebay::dataset::records {

// Returns the content of the index's file. Thread-safe; never blocks.
std::string EncodeRecordIndex(const RecordIndex& index);

// Reads the index in `file`. If the index has access points, gets them by
// `find_points`. The index gets its own reservation from `memory`. DATA_LOSS:
// the file is damaged, or has another version of the file format.
// RESOURCE_EXHAUSTED: `memory` cannot grow. Others: those of `find_points` and
// of reading. Thread-safe; blocks for the disk.
absl::StatusOr<std::shared_ptr<const RecordIndex>> DecodeRecordIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const compressed::FindPoints& find_points = nullptr);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_FORMAT_H_
