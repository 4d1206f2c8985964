#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSION_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSION_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::storage::compressed {

// The format in which a whole file is compressed. The file consists of gzip
// members (RFC 1952, 2.2), of one zlib stream (RFC 1950), or of zstd frames
// (RFC 8878).
enum class Compression : std::uint32_t { kGzip = 0, kZlib = 1, kZstd = 2 };

// The number of bytes at a file's beginning that CompressionOf needs.
inline constexpr std::uint64_t kCompressionBytes = 4;

// Returns the compression of a file that begins with `start`, or nothing if
// none is recognised. The two bytes of zlib's header prove little, so the
// caller first rules out the other formats that it expects.
inline std::optional<Compression> CompressionOf(
    absl::Span<const std::uint8_t> start) {
  if (start.size() < kCompressionBytes) return std::nullopt;
  // A gzip member begins with ID1, ID2 and CM = 8, deflate (RFC 1952, 2.3.1).
  if (start[0] == 0x1f && start[1] == 0x8b && start[2] == 8)
    return Compression::kGzip;
  // A zstd file begins with Magic_Number (RFC 8878, 3.1.1) or with the magic
  // number of a skippable frame (3.1.2), as pzstd's files do.
  if ((start[0] == 0x28 && start[1] == 0xb5 && start[2] == 0x2f &&
       start[3] == 0xfd) ||
      ((start[0] & 0xf0) == 0x50 && start[1] == 0x2a && start[2] == 0x4d &&
       start[3] == 0x18))
    return Compression::kZstd;
  // A zlib stream begins with CMF and FLG (RFC 1950, 2.2). CM is 8, CINFO is at
  // most 7, FDICT is not set, and CMF * 256 + FLG is a multiple of 31.
  const unsigned header = (unsigned{start[0]} << 8) | start[1];
  if ((start[0] & 0x0f) == 8 && (start[0] >> 4) <= 7 &&
      (start[1] & 0x20) == 0 && header % 31 == 0)
    return Compression::kZlib;
  return std::nullopt;
}

// Returns the compression's human-readable name.
inline std::string_view NameOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "gzip";
    case Compression::kZlib:
      return "zlib";
    case Compression::kZstd:
      break;
  }
  return "zstd";
}

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSION_H_
