#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/npy/npy_index.h"

// Encodes and decodes the file in which an NpyIndex is saved. All numbers are
// little-endian. index_file.h describes the checksum:
//
//   header   96 bytes: magic "FBYNPYIX"; version (1) and zero as u32; number of
//            files, and bytes of their paths, u64; type of the elements, and
//            number of axes of a row, u32; its five axes u64; zero u64 twice
//   files    56 bytes each: length of the path, size, modification time, inode,
//            ctime, rows, bytes before the first row, 64 bits each
//   paths    all paths, one directly after the other, in the files' order
//   checksum 16 bytes
//
// Thread-safe. Decoding blocks while the file is read. Encoding never blocks.

namespace forebay::dataset::npy {

// Returns the bytes of the file that the index is saved in.
std::string EncodeNpyIndex(const NpyIndex& index);

// Reads an index from its file. The index keeps the part of `memory` that
// counts the index. DATA_LOSS: the file is damaged, or has another version of
// the format. RESOURCE_EXHAUSTED: `memory` has no room. All other errors are
// those of reading the file.
absl::StatusOr<std::shared_ptr<const NpyIndex>> DecodeNpyIndex(
    IndexFileReader& file, base::WorkingMemory& memory);

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_FORMAT_H_
