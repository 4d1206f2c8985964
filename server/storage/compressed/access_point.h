#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_ACCESS_POINT_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_ACCESS_POINT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/storage/compressed/compression.h"

namespace forebay::storage::compressed {

// The most decompressed bytes between two access points, and in a piece. Points
// lie further apart only where a single deflate block, or a zstd frame without
// pieces, is longer. On average a read throws away half of kMostApart. The
// points of a megabyte take 32 bytes of memory.
inline constexpr std::uint64_t kMostApart = std::uint64_t{1} << 20;  // bytes
// The most bytes by which a block of deflate refers back (RFC 1951, section 2).
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{32} << 10;

// A place in a compressed file at which decompression can begin.
//
// In a deflated file, a block begins at this place (RFC 1951, 3.2.3).
// Decompression from here also needs the window: up to 32 KiB of decompressed
// bytes before the place. The window is kept (PointWindows). The beginning of a
// gzip member, a zlib stream or a zstd frame needs no window.
//
// A point within a zstd frame has a piece in place of a window: the
// decompressed bytes from this point up to the next one. Reads copy the piece,
// and need no compressed bytes for it. The point's `bit` is then an upper bound
// for the compressed bytes of the range before the point.
struct AccessPoint {
  // The place in the decompressed bytes.
  std::uint64_t offset = 0;
  // The place in the compressed file, in bits.
  std::uint64_t bit = 0;
  // The place of the window or piece in the PointWindows, in bytes.
  std::uint64_t window_offset = 0;
  // The bytes that the window or piece takes there; 0 if there is none.
  std::uint32_t window_bytes = 0;
  // The CRC-32C of the window or piece itself, decompressed.
  std::uint32_t window_crc32c = 0;

  bool operator==(const AccessPoint&) const = default;
};
static_assert(sizeof(AccessPoint) == 32);

// The result of the scan of a compressed file.
struct DecompressedFile {
  Compression compression = Compression::kGzip;
  // The bytes that the file decompresses to.
  std::uint64_t size = 0;
  // The access points in ascending order; the first has offset 0.
  std::vector<AccessPoint> points;
  // The digest of the pieces, by PieceDigest.
  std::uint32_t pieces_crc32c = 0;
};

// Whether the point has a piece: the decompressed bytes after the point are
// kept.
inline bool HasPiece(Compression compression, const AccessPoint& point) {
  return compression == Compression::kZstd && point.window_bytes > 0;
}
// Whether any of the points has a piece.
inline bool HasPieces(Compression compression,
                      absl::Span<const AccessPoint> points) {
  return std::any_of(points.begin(), points.end(),
                     [compression](const AccessPoint& one) {
                       return HasPiece(compression, one);
                     });
}

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_ACCESS_POINT_H_
