#include "server/storage/compressed/range_part.h"

#include <algorithm>

#include "absl/types/span.h"
#include "server/storage/compressed/compressed_reader.h"

namespace forebay::storage::compressed {
namespace {

// A first read has this many bytes more than the part's share of the compressed
// bytes between two points, because some stretches are compressed less than
// others. With zstd, the read also needs whole blocks, of up to 128 KiB (RFC
// 8878, 3.1.1.2.4).
constexpr std::uint64_t kMoreBytes = std::uint64_t{16} << 10;
constexpr std::uint64_t kZstdMoreBytes = std::uint64_t{144} << 10;

// Returns the number of bytes of the file that hold all bits before the point.
constexpr std::uint64_t EndByte(const AccessPoint& point) {
  return (point.bit + 7) / 8;
}

// Returns the first point that is not before `offset`, or the end.
const AccessPoint* PointFrom(absl::Span<const AccessPoint> points,
                             std::uint64_t offset) {
  return std::lower_bound(points.begin(), points.end(), offset,
                          [](const AccessPoint& point, std::uint64_t wanted) {
                            return point.offset < wanted;
                          });
}

}  // namespace

RangePart FirstPart(const FilePoints& points, const CompressedFile& file,
                    std::uint64_t begin, std::uint64_t end) {
  const auto all = points.PointsOf(file);
  const AccessPoint* behind = PointFrom(all, begin + 1);
  RangePart part = {.begin = begin, .end = end, .point = *(behind - 1)};
  const auto offset_of = [&](const AccessPoint* point) {
    return point == all.end() ? file.size : point->offset;
  };
  if (HasPiece(file.compression, part.point)) {
    part.end = std::min(end, offset_of(behind));
    part.piece_bytes = offset_of(behind) - part.point.offset;
    return part;
  }
  // The part ends at `end`, or where the next piece begins.
  while (behind != all.end() && behind->offset < end &&
         !HasPiece(file.compression, *behind))
    ++behind;
  part.end = std::min(end, offset_of(behind));
  part.first_byte = CompressedReader::BeginOf(part.point);
  part.end_byte =
      std::max(part.first_byte,
               behind == all.end() ? file.compressed_size : EndByte(*behind));
  const std::uint64_t between = std::max<std::uint64_t>(
      1, offset_of(behind) - std::min(file.size, part.point.offset));
  // The compressed bytes of the part, if all bytes between the points were
  // compressed alike.
  const double share = static_cast<double>(part.end - part.point.offset) /
                       static_cast<double>(between) *
                       static_cast<double>(part.end_byte - part.first_byte);
  part.first_read =
      static_cast<std::uint64_t>(share) +
      (file.compression == Compression::kZstd ? kZstdMoreBytes : kMoreBytes);
  return part;
}

}  // namespace forebay::storage::compressed
