#ifndef FOREBAY_SERVER_DATASET_INDEX_FORMAT_H_
#define FOREBAY_SERVER_DATASET_INDEX_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/index.h"

// The file that keeps an index. Little-endian, nothing between the parts:
//
//   header       64 bytes: magic "FBYINDEX"; version (1) and dataset format as
//                u32; scanned_at_nanos i64; link_context u64; number of
//                directories, of samples, and bytes of names u64; zero u64
//   directories  56 bytes each: path_offset u64; path_length, label u32;
//                first_sample u64; device, inode u64; mtime, ctime i64
//   samples      20 bytes each: name_offset, size_low, mtime_low, mtime_high
//                u32; size_high, name_length u16
//   names        bytes, see IndexDirectory and IndexRecord
//   checksum     16 bytes: XXH3-128 of all before, in its canonical form
//
// The checksum finds accidents; whoever can write the file can write any
// index, but not one that makes a reader go out of bounds.

namespace forebay::dataset {

// The bytes of the file. `format` is a proto::DatasetSpec::Format. Thread-safe;
// never blocks.
std::string EncodeIndex(const Index& index, std::uint32_t format);

// The index in `bytes`, which keeps its part of `memory`. DATA_LOSS: damaged,
// of another version of this file format or of another `format`;
// RESOURCE_EXHAUSTED: that of `memory`. Thread-safe; never blocks.
absl::StatusOr<std::shared_ptr<const Index>> DecodeIndex(
    absl::Span<const std::uint8_t> bytes, std::uint32_t format,
    base::WorkingMemory& memory);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_FORMAT_H_
