#ifndef FOREBAY_SERVER_STORAGE_INFLATED_PACKING_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_PACKING_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::storage::inflated {

// How a file is compressed as a whole: as gzip members, one behind the other
// (RFC 1952), as one zlib stream (RFC 1950), or as zstd frames (RFC 8878).
enum class Packing : std::uint32_t { kGzip = 0, kZlib = 1, kZstd = 2 };

// The bytes by which PackingOf tells.
inline constexpr std::uint64_t kPackingBytes = 4;

// Returns the packing of a file that begins so; nothing if it seems to have
// none. Two bytes are no proof of zlib: a caller makes sure that the file is
// not what it looks for.
inline std::optional<Packing> PackingOf(absl::Span<const std::uint8_t> start) {
  if (start.size() < kPackingBytes) return std::nullopt;
  if (start[0] == 0x1f && start[1] == 0x8b && start[2] == 8)
    return Packing::kGzip;
  // The first frame may be one that decoders skip, as those of pzstd are.
  if ((start[0] == 0x28 && start[1] == 0xb5 && start[2] == 0x2f &&
       start[3] == 0xfd) ||
      ((start[0] & 0xf0) == 0x50 && start[1] == 0x2a && start[2] == 0x4d &&
       start[3] == 0x18))
    return Packing::kZstd;
  // The method, the window's size, no dictionary, and a checksum of both bytes.
  const unsigned header = (unsigned{start[0]} << 8) | start[1];
  if ((start[0] & 0x0f) == 8 && (start[0] >> 4) <= 7 &&
      (start[1] & 0x20) == 0 && header % 31 == 0)
    return Packing::kZlib;
  return std::nullopt;
}

// For people.
inline std::string_view NameOf(Packing packing) {
  switch (packing) {
    case Packing::kGzip:
      return "gzip";
    case Packing::kZlib:
      return "zlib";
    case Packing::kZstd:
      break;
  }
  return "zstd";
}

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_PACKING_H_
