#ifndef FOREBAY_SERVER_DATASET_ZIP_EOCD_H_
#define FOREBAY_SERVER_DATASET_ZIP_EOCD_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The records at the end of a zip archive, which say where its directory lies.
// The end of central directory record (EOCD, APPNOTE 4.3.16) comes last,
// followed by the archive's comment. A zip64 EOCD locator (4.3.15) may precede
// the EOCD. The locator says where the zip64 EOCD record (EOCD64, 4.3.14) lies.
// An EOCD64 has wider numbers than an EOCD. The functions are thread-safe and
// never block; their errors give the reason alone.

namespace forebay::dataset::zip {

inline constexpr std::uint64_t kEocdBytes = 22;  // without the comment
inline constexpr std::uint64_t kEocd64LocatorBytes = 20;
inline constexpr std::uint64_t kEocd64Bytes = 56;
inline constexpr std::uint64_t kLongestComment = UINT16_MAX;  // bytes

// The place of an EOCD.
struct EocdPlace {
  std::size_t offset = 0;  // bytes into the searched tail
  std::size_t behind = 0;  // bytes that follow the comment
};

// Searches `tail`, the end of an archive, for its EOCD. Returns the last EOCD
// whose comment ends where `tail` ends. If there is none, returns the last EOCD
// whose comment lies within `tail`. Returns nothing if the last kEocdBytes +
// kLongestComment bytes have no EOCD.
std::optional<EocdPlace> FindEocd(absl::Span<const std::uint8_t> tail);

// The content of an EOCD or EOCD64: where the directory lies, and its number of
// entries.
struct Eocd {
  std::uint64_t directory_offset = 0;  // in bytes, as the writer counted them
  std::uint64_t directory_bytes = 0;   // length of the directory
  std::uint64_t members = 0;           // number of entries
  // Whether `members` has only the lowest 16 bits of the number, as in an EOCD.
  bool short_count = false;
};

// Parses an EOCD of kEocdBytes bytes, whose signature the caller has checked.
// UNIMPLEMENTED: the archive is split.
absl::StatusOr<Eocd> ParseEocd(absl::Span<const std::uint8_t> record);

// Parses the kEocd64LocatorBytes bytes before an EOCD. Returns the offset of
// the EOCD64, as the writer counted it. Returns nothing if these bytes are not
// a locator. UNIMPLEMENTED: the archive is split.
absl::StatusOr<std::optional<std::uint64_t>> ParseEocd64Locator(
    absl::Span<const std::uint8_t> locator);

// Parses the first kEocd64Bytes bytes of an EOCD64 that has `length` bytes.
// Returns nothing if these bytes are not an EOCD64 of `length` bytes.
// UNIMPLEMENTED: the archive is split.
absl::StatusOr<std::optional<Eocd>> ParseEocd64(
    absl::Span<const std::uint8_t> record, std::uint64_t length);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_EOCD_H_
