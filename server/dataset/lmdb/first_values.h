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

// The values of some entries.
struct FirstValues {
  std::vector<base::Bytes> read;  // the bytes that `values` point into
  std::vector<absl::Span<const std::uint8_t>> values;
  std::string first;  // name of the first value's file and entry, for people
};

// The database from which values are read, and how it is read.
struct ValueSource {
  storage::ByteSource* source = nullptr;
  std::shared_ptr<const storage::Root> root;
  std::string database;   // name; empty for the unnamed database
  bool uncached = false;  // see ReadRequest::uncached
};

// Reads the first values of the first file that has any. Reads one value,
// however long it is. Then reads up to 15 further values of the same leaf page,
// while all values together have at most 4 MiB. Returns no values if no file
// has any. Counts the bytes read in `memory`, where they stay counted.
//
// Blocks for reads, but returns soon after `stop` is requested. Errors name the
// file: those of the source and of LmdbWalk; FAILED_PRECONDITION if a writer
// ended a transaction meanwhile. RESOURCE_EXHAUSTED: `memory` has no room.
absl::StatusOr<FirstValues> ReadFirstValues(
    const ValueSource& source, absl::Span<const storage::ListedObject> files,
    base::WorkingMemory& memory, const std::stop_token& stop);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_FIRST_VALUES_H_
