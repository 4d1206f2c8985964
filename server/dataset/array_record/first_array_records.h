#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_ARRAY_RECORDS_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_ARRAY_RECORDS_H_

#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::array_record {

// The first records of some files.
struct FirstArrayRecords {
  // The bytes that `records` point into: as read, or as decompressed.
  std::vector<base::Bytes> read;
  ValueBuffers decompressed;
  std::vector<absl::Span<const std::uint8_t>> records;
};

// Reads the first records of the first file that has any, up to 64. Reads one
// chunk, however long it is, and further chunks while all chunks together have
// at most 4 MiB. Returns no records if no file has any. Counts the bytes read
// and decompressed in `memory`, where they stay counted.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors name the
// file: those of the source, of Footer and of Chunk. RESOURCE_EXHAUSTED is the
// error of `memory`.
absl::StatusOr<FirstArrayRecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_ARRAY_RECORDS_H_
