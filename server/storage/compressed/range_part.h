#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_RANGE_PART_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_RANGE_PART_H_

#include <cstdint>

#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/file_points.h"

namespace forebay::storage::compressed {

// A part of a range of decompressed bytes, and the data from which it is made.
// A range has several parts if pieces of the file are kept. Each such piece is
// a part, and so is each stretch between two of them.
struct RangePart {
  // The first byte of the part, and the byte after its last byte, in the
  // decompressed file.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  // The point at which decompression begins, or whose piece has the part.
  AccessPoint point;
  // The number of bytes of the piece in which the part lies. 0 if no piece is
  // kept: the part then needs the compressed bytes that the members below name.
  std::uint64_t piece_bytes = 0;
  // The offset of the first byte of the compressed file that is needed.
  std::uint64_t first_byte = 0;
  // The offset after the last byte of the compressed file that can be needed.
  std::uint64_t end_byte = 0;
  // The number of compressed bytes that are probably enough.
  std::uint64_t first_read = 0;
};

// Returns the first part of the range from `begin` to `end`, which lies in the
// file. Thread-safe; never blocks; has no errors.
RangePart FirstPart(const FilePoints& points, const CompressedFile& file,
                    std::uint64_t begin, std::uint64_t end);

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_RANGE_PART_H_
