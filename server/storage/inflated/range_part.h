#ifndef FOREBAY_SERVER_STORAGE_INFLATED_RANGE_PART_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_RANGE_PART_H_

#include <cstdint>

#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/file_points.h"

namespace forebay::storage::inflated {

// A part of a range of inflated bytes, and what making it takes. A range has
// several if pieces of the file are kept: each of these is one, and what lies
// between them.
struct RangePart {
  std::uint64_t begin = 0;  // in inflated bytes
  std::uint64_t end = 0;
  AccessPoint point;  // from which on it is inflated
  // Of the piece that it lies in; 0 if none is kept, so that compressed bytes
  // are needed.
  std::uint64_t piece_bytes = 0;
  std::uint64_t first_byte = 0;  // of these
  std::uint64_t end_byte = 0;    // behind the last one that can be needed
  std::uint64_t first_read = 0;  // bytes that are enough, by guess
};

// Returns the first part of a range of a file, which has it. Thread-safe; never
// blocks; has no errors.
RangePart FirstPart(const FilePoints& points, const PackedFile& file,
                    std::uint64_t begin, std::uint64_t end);

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_RANGE_PART_H_
