#include "server/storage/inflated/range_part.h"

#include <algorithm>

#include "absl/types/span.h"
#include "server/storage/inflated/packed_reader.h"

namespace forebay::storage::inflated {
namespace {

// A first read is so much longer than its share of the compressed bytes between
// two points: some of them are packed more tightly. Blocks of zstd are inflated
// as a whole.
constexpr std::uint64_t kMoreBytes = std::uint64_t{16} << 10;
constexpr std::uint64_t kZstdMoreBytes = std::uint64_t{144} << 10;

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

RangePart FirstPart(const FilePoints& points, const PackedFile& file,
                    std::uint64_t begin, std::uint64_t end) {
  const auto all = points.PointsOf(file);
  const AccessPoint* behind = PointFrom(all, begin + 1);
  RangePart part = {.begin = begin, .end = end, .point = *(behind - 1)};
  const auto offset_of = [&](const AccessPoint* point) {
    return point == all.end() ? file.size : point->offset;
  };
  if (HasPiece(file.packing, part.point)) {
    part.end = std::min(end, offset_of(behind));
    part.piece_bytes = offset_of(behind) - part.point.offset;
    return part;
  }
  while (behind != all.end() && behind->offset < end &&
         !HasPiece(file.packing, *behind))
    ++behind;
  part.end = std::min(end, offset_of(behind));
  part.first_byte = PackedReader::BeginOf(part.point);
  part.end_byte =
      std::max(part.first_byte,
               behind == all.end() ? file.packed_size : EndByte(*behind));
  const std::uint64_t between = std::max<std::uint64_t>(
      1, offset_of(behind) - std::min(file.size, part.point.offset));
  const double share = static_cast<double>(part.end - part.point.offset) /
                       static_cast<double>(between) *
                       static_cast<double>(part.end_byte - part.first_byte);
  part.first_read =
      static_cast<std::uint64_t>(share) +
      (file.packing == Packing::kZstd ? kZstdMoreBytes : kMoreBytes);
  return part;
}

}  // namespace forebay::storage::inflated
