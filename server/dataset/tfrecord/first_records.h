#ifndef FOREBAY_SERVER_DATASET_TFRECORD_FIRST_RECORDS_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_FIRST_RECORDS_H_

#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/working_memory.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::tfrecord {

// The payloads of some records, which point into what was read.
struct FirstRecords {
  std::vector<base::Bytes> read;
  std::vector<absl::Span<const std::uint8_t>> payloads;
};

// Reads the first records of `files`: of the first file that has any, at least
// one, and as many more as a read of some megabytes has. Counts in `memory`
// what it reads, which the caller holds as long as that.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors name the
// file: those of the source, of LengthOf and PayloadOf; DATA_LOSS: it is
// truncated; RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<FirstRecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_FIRST_RECORDS_H_
