#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/zip/zip_index.h"

// The file of a ZipIndex:
//
//   header       56 bytes: magic "FBYZIPIX"; version (1) and zero as u32;
//                numbers of archives and of images, bytes of paths, of the
//                folder and of the images' index u64
//   archives     72 bytes each: path_offset, path_length, begin, size u64;
//                stamp i64; inode u64; ctime i64; directory 16 bytes
//   places       8 bytes each: see ImagePlace
//   paths        bytes, see ArchiveRecord
//   folder       bytes
//   images       a whole file as folder/folder_index_format.h has it
//   checksum     16 bytes: XXH3-128 of all before, in its canonical form
// See index_file.h.

namespace forebay::dataset::zip {

// Returns the bytes of the file. Thread-safe; never blocks.
std::string EncodeZipIndex(const ZipIndex& index);

// Reads the index in `bytes`, which keeps its part of `memory`. DATA_LOSS: the
// file is damaged or of another version; RESOURCE_EXHAUSTED: that of `memory`.
// Thread-safe; never blocks.
absl::StatusOr<std::shared_ptr<const ZipIndex>> DecodeZipIndex(
    absl::Span<const std::uint8_t> bytes, base::WorkingMemory& memory);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_FORMAT_H_
