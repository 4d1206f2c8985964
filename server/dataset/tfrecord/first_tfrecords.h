#ifndef FOREBAY_SERVER_DATASET_TFRECORD_FIRST_TFRECORDS_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_FIRST_TFRECORDS_H_

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

// The payloads of the first records of some files.
struct FirstTfrecords {
  std::vector<base::Bytes> read;  // the bytes that `payloads` point into
  std::vector<absl::Span<const std::uint8_t>> payloads;
};

// Reads the first records of the first file that is not empty. Reads the first
// record whatever its length, and up to 63 more that lie in the first 4 MiB.
// Decompresses only as much of a compressed file as these records need. Counts
// the bytes read and decompressed in `memory`, and leaves them counted there.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors are
// those of the source, of LengthOf and of PayloadOf, and name the file.
// DATA_LOSS: the file is truncated. RESOURCE_EXHAUSTED: `memory` cannot grow;
// this error does not name the file.
absl::StatusOr<FirstTfrecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_FIRST_TFRECORDS_H_
