#ifndef FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/folder_index.h"
#include "server/dataset/index_file.h"

// The file of a FolderIndex:
//
//   header       64 bytes: magic "FBYINDEX"; version (1) and dataset format as
//                u32; scanned_at_nanos i64; link_context u64; number of
//                directories, of samples, and bytes of names u64; zero u64
//   directories  56 bytes each: path_offset u64; path_length, label u32;
//                first_sample u64; device, inode u64; mtime, ctime i64
//   samples      20 bytes each: name_offset, size_low, mtime_low, mtime_high
//                u32; size_high, name_length u16
//   names        bytes, see DirectoryRecord and FolderFile
//   checksum     16 bytes: XXH3-128 of all bytes before, in canonical form
// See index_file.h.

namespace forebay::dataset::folder {

// Returns the content of the index's file. `format` is a number that tells
// kinds of folders and other formats apart. For images it is a
// proto::DatasetSpec::Format. Thread-safe; never blocks.
std::string EncodeFolderIndex(const FolderIndex& index, std::uint32_t format);

// Appends to `bytes` the content of the file without its checksum. Thread-safe;
// never blocks.
void AppendFolderIndex(std::string& bytes, const FolderIndex& index,
                       std::uint32_t format);

// Reads the index in `file`. The index gets its own reservation from `memory`.
// DATA_LOSS: the file is damaged, has another version of the file format, or
// has another `format`. RESOURCE_EXHAUSTED: `memory` cannot grow. Others: those
// of reading. Thread-safe; blocks for the disk.
absl::StatusOr<std::shared_ptr<const FolderIndex>> DecodeFolderIndex(
    IndexFileReader& file, std::uint32_t format, base::WorkingMemory& memory);

// Takes from `file` what AppendFolderIndex wrote. The returned parts are
// unchecked: FolderIndex::Create checks them. The errors are those of
// DecodeFolderIndex.
absl::StatusOr<FolderIndexParts> TakeFolderIndex(IndexFileReader& file,
                                                 std::uint32_t format,
                                                 base::WorkingMemory& memory);

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_FORMAT_H_
