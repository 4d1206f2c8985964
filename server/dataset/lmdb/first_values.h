#ifndef FOREBAY_SERVER_DATASET_LMDB_FIRST_VALUES_H_
#define FOREBAY_SERVER_DATASET_LMDB_FIRST_VALUES_H_

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/working_memory.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::lmdb {

// The values of some entries, which point into what was read.
struct FirstValues {
  std::vector<base::Bytes> read;
  std::vector<absl::Span<const std::uint8_t>> values;
  std::string first;  // names the first entry, for people
};

// Where values are read from.
struct ValueSource {
  storage::ByteSource* source = nullptr;
  std::shared_ptr<const storage::Root> root;
  std::string database;
  bool uncached = false;  // as a ReadRequest's
};

// Reads the first values of `files`: those of the first file that has any. They
// are one, and as many more as make some megabytes. Counts in `memory` what it
// reads, which the caller holds as long as that.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors name the
// file: those of the source and of LmdbWalk; FAILED_PRECONDITION: it was
// written to; RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<FirstValues> ReadFirstValues(
    const ValueSource& source, absl::Span<const storage::ListedObject> files,
    base::WorkingMemory& memory, const std::stop_token& stop);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_FIRST_VALUES_H_
