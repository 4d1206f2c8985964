#ifndef FOREBAY_SERVER_STORAGE_INFLATED_PACKING_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_PACKING_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::storage::inflated {

// How a file is compressed as a whole: as gzip members, one behind the other
// (RFC 1952), or as one zlib stream (RFC 1950).
enum class Packing : std::uint32_t { kGzip = 0, kZlib = 1 };

// The bytes by which PackingOf tells.
inline constexpr std::uint64_t kPackingBytes = 3;

// Returns the packing of a file that begins so; nothing if it seems to have
// none. Two bytes are no proof of zlib: a caller makes sure that the file is
// not what it looks for.
inline std::optional<Packing> PackingOf(absl::Span<const std::uint8_t> start) {
  if (start.size() < kPackingBytes) return std::nullopt;
  if (start[0] == 0x1f && start[1] == 0x8b && start[2] == 8)
    return Packing::kGzip;
  // The method, the window's size, no dictionary, and a checksum of both bytes.
  const unsigned header = (unsigned{start[0]} << 8) | start[1];
  if ((start[0] & 0x0f) == 8 && (start[0] >> 4) <= 7 &&
      (start[1] & 0x20) == 0 && header % 31 == 0)
    return Packing::kZlib;
  return std::nullopt;
}

// For people.
inline std::string_view NameOf(Packing packing) {
  return packing == Packing::kGzip ? "gzip" : "zlib";
}

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_PACKING_H_
