#ifndef FOREBAY_SERVER_DATASET_OBJECT_SCAN_H_
#define FOREBAY_SERVER_DATASET_OBJECT_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_parser.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

// Describes a scan: the objects, and callbacks that make their parsers and take
// their results. The scanning thread calls the callbacks.
struct ObjectScan {
  storage::ByteSource* source = nullptr;
  std::shared_ptr<const storage::Root> root;
  absl::Span<const storage::ListedObject> objects;
  std::size_t objects_at_once = 16;  // at least 1; each has one read in flight
  // Whether reads bypass caches. Set if nobody makes these reads a second time:
  // in a cache, their bytes would take the place of samples.
  bool uncached = false;
  std::stop_token stop;  // ends the scan early

  // Makes the parser of an object, given its index in `objects`. The parser is
  // owned by whoever sets this callback.
  std::function<absl::StatusOr<ObjectParser*>(std::size_t object)> begin;
  // Called when the object's parser has found all samples. The scan does not
  // use the parser afterwards.
  std::function<absl::Status(std::size_t object)> end;
  // Returns the most bytes of temporary objects that a parser makes from a read
  // of `length` bytes. Memory that the parser itself counts and keeps is not
  // included.
  std::function<std::uint64_t(std::uint64_t length)> temporary_bytes = nullptr;
};

// Parses all objects, several in parallel. Counts the bytes of reads in flight
// in `memory`.
//
// Blocks for the reads, but returns soon after `scan.stop` is requested. After
// a stop or an error, reads may still be in flight when it returns. Errors of
// the parsers and of the source name the object. DATA_LOSS, naming the object:
// a read returned too few bytes. CANCELLED: the scan was stopped.
// RESOURCE_EXHAUSTED: `memory` cannot grow.
absl::Status ScanObjects(const ObjectScan& scan, base::WorkingMemory& memory);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_SCAN_H_
