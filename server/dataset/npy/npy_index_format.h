#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/npy/npy_index.h"

// The file of an NpyIndex:
//
//   header   96 bytes: magic "FBYNPYIX"; version (1) and zero as u32; number of
//            files, and bytes of their paths u64; type of the elements, and
//            number of axes of a row, u32; its five axes u64; zero u64 twice
//   files    56 bytes each: length of the path, size, stamp, inode, ctime,
//   rows,
//            bytes before the first row, 64 bits each
//   paths
//   checksum 16 bytes
//
// Everything is little-endian (index_file.h). Thread-safe; blocks for the file
// alone.

namespace forebay::dataset::npy {

std::string EncodeNpyIndex(const NpyIndex& index);

// DATA_LOSS: the file is damaged or of another version; RESOURCE_EXHAUSTED:
// that of `memory`, of which the index keeps its part; others: those of
// reading.
absl::StatusOr<std::shared_ptr<const NpyIndex>> DecodeNpyIndex(
    IndexFileReader& file, base::WorkingMemory& memory);

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_FORMAT_H_
