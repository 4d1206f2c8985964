#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_RECORDS_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_RECORDS_H_

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

// Some records, which point into what was read or unpacked.
struct FirstRecords {
  std::vector<base::Bytes> read;
  MadeValues unpacked;
  std::vector<absl::Span<const std::uint8_t>> records;
};

// Reads the first records of `files`: of the first file that has any, at least
// one, and some more if they lie in chunks of some megabytes together. Counts
// in `memory` what it reads and unpacks, which the caller holds as long as
// that.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors name the
// file: those of the source, of Footer and of Chunk; RESOURCE_EXHAUSTED: that
// of `memory`.
absl::StatusOr<FirstRecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FIRST_RECORDS_H_
