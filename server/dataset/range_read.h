#ifndef FOREBAY_SERVER_DATASET_RANGE_READ_H_
#define FOREBAY_SERVER_DATASET_RANGE_READ_H_

#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_parser.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

// A read of a part of a file, before a dataset exists.
struct RangeRead {
  storage::ByteSource& source;
  const std::shared_ptr<const storage::Root>& root;
  const storage::ListedObject& file;
  ByteRange range;
  bool uncached = false;  // see ReadRequest
};

// Returns all bytes of the range. Counts them in `memory`, unless `memory` is
// null. Blocks for the read, but not for long once `stop` is requested. Errors:
// those of storage::ReadNow and of `memory`; DATA_LOSS, naming the file: the
// read returned fewer bytes.
absl::StatusOr<base::Bytes> ReadRange(const RangeRead& read,
                                      base::WorkingMemory* memory,
                                      const std::stop_token& stop);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_RANGE_READ_H_
