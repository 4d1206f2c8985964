#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/zip/zip_index.h"

// The file of a ZipIndex:
//
//   header       64 bytes: magic "FBYZIPIX"; version (3) and zero as u32;
//                numbers of archives, of groups, of near and far places;
//                bytes of paths and of the folder; u64 each
//   archives     72 bytes each: path_offset, path_length, begin, size u64;
//                stamp i64; inode u64; ctime i64; directory 16 bytes
//   places       see ImagePlaces::Parts: groups, 8 bytes each; items of `far`,
//                8 bytes each; items of `near`, 4 bytes each
//   paths        bytes, see ArchiveRecord
//   folder       bytes
//   images       as folder/folder_index_format.h has them, without a checksum
//   checksum     16 bytes: XXH3-128 of all bytes before it, in canonical form
// See index_file.h.

namespace forebay::dataset::zip {

// Returns the content of the index's file. Thread-safe; never blocks.
std::string EncodeZipIndex(const ZipIndex& index);

// Reads the index in `file`. The index keeps its part of `memory`. DATA_LOSS:
// the file is damaged or of another version. RESOURCE_EXHAUSTED: `memory` has
// no room. Other errors: those of reading. Thread-safe; blocks for the disk.
absl::StatusOr<std::shared_ptr<const ZipIndex>> DecodeZipIndex(
    IndexFileReader& file, base::WorkingMemory& memory);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_FORMAT_H_
