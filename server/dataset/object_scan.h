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

// How objects are scanned, and with which parsers. The functions are called by
// the thread that scans.
struct ObjectScan {
  storage::ByteSource* source = nullptr;
  std::shared_ptr<const storage::Root> root;
  absl::Span<const storage::ListedObject> objects;
  std::size_t objects_at_once = 16;  // at least 1; each has one read in flight
  // As a ReadRequest's: for reads that nobody makes a second time, which would
  // take the place of samples.
  bool uncached = false;
  std::stop_token stop;  // ends the scan early

  // Makes the parser of that object, by its number. The caller owns it.
  std::function<absl::StatusOr<ObjectParser*>(std::size_t object)> begin;
  // Called when the parser has found all; it is not used after that.
  std::function<absl::Status(std::size_t object)> end;
  // Bytes that a parser makes, at most, of a read of `length` bytes, besides
  // what it counts itself and keeps.
  std::function<std::uint64_t(std::uint64_t length)> made = nullptr;
};

// Parses all objects, several side by side. Counts the reads in `memory`.
//
// Blocks for the reads, but returns soon after its stop is requested. Reads may
// still be in flight then, and when it returns an error. Errors name the
// object: those of the parsers and of the source; DATA_LOSS: a read gave too
// few bytes. Errors without one: CANCELLED: stopped; RESOURCE_EXHAUSTED: that
// of `memory`.
absl::Status ScanObjects(const ObjectScan& scan, base::WorkingMemory& memory);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_SCAN_H_
