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
  // The bytes that `records` point into: those that were read, or those that
  // were decompressed.
  std::vector<base::Bytes> read;
  ValueBuffers decompressed;
  std::vector<absl::Span<const std::uint8_t>> records;
};

// Reads up to 64 records from the start of the first file that has records.
// Reads one chunk, however long it is. Reads further chunks while all chunks
// together have at most 4 MiB, stored and decompressed. Returns no records if
// no file has records. Counts the bytes read and decompressed in `memory`, and
// leaves them counted there.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors are
// those of the source, of Footer and of Chunk, and name the file.
// RESOURCE_EXHAUSTED: `memory` cannot grow; this error does not name the file.
absl::StatusOr<FirstArrayRecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_ARRAY_RECORDS_H_
