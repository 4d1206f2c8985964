#ifndef FOREBAY_SERVER_STORAGE_INFLATED_ACCESS_POINT_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_ACCESS_POINT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/storage/inflated/packing.h"

namespace forebay::storage::inflated {

// Points lie no further apart, unless a single block of deflate is longer, or a
// zstd frame. Pieces are no longer.
inline constexpr std::uint64_t kMostApart = std::uint64_t{1} << 20;  // bytes
// The most that a block refers back to.
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{32} << 10;

// A place in a compressed file from which on it can be inflated. If it was
// deflated, a block begins there. To go on from that takes the inflated bytes
// before it, its window, which is kept. A place without one is where a gzip
// member, a zlib stream or a zstd frame begins.
//
// A place within a zstd frame has no such window. Instead the piece is kept
// that the file inflates to from there up to the next point. The compressed
// bytes before it are enough for what lies before it.
struct AccessPoint {
  std::uint64_t offset = 0;         // into the inflated bytes
  std::uint64_t bit = 0;            // into the compressed file, in bits
  std::uint64_t window_offset = 0;  // where it, or the piece, is kept; bytes
  std::uint32_t window_bytes = 0;   // that it takes there; 0: none
  std::uint32_t window_crc32c = 0;  // of the window or piece itself

  bool operator==(const AccessPoint&) const = default;
};
static_assert(sizeof(AccessPoint) == 32);

// A compressed file, as it was found to be.
struct InflatedFile {
  Packing packing = Packing::kGzip;
  std::uint64_t size = 0;           // bytes that it inflates to
  std::vector<AccessPoint> points;  // ascending; the first has offset 0
  std::uint32_t pieces_crc32c = 0;  // see PieceDigest
};

// Whether what lies behind the point is kept.
inline bool HasPiece(Packing packing, const AccessPoint& point) {
  return packing == Packing::kZstd && point.window_bytes > 0;
}
// Whether any of a file's is.
inline bool HasPieces(Packing packing, absl::Span<const AccessPoint> points) {
  return std::any_of(
      points.begin(), points.end(),
      [packing](const AccessPoint& one) { return HasPiece(packing, one); });
}

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_ACCESS_POINT_H_
