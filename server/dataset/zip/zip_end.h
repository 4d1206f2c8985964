#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_END_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_END_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The records at the end of a zip archive, which say where its directory lies.
// The end record comes last, with a comment behind it. An archive that is too
// large for its numbers has a locator right before it, which says where a
// second, larger end record lies. Functions are thread-safe and never block;
// their errors give the reason alone.

namespace forebay::dataset::zip {

inline constexpr std::uint64_t kEndBytes = 22;  // without the comment
inline constexpr std::uint64_t kLocatorBytes = 20;
inline constexpr std::uint64_t kEnd64Bytes = 56;
inline constexpr std::uint64_t kLongestComment = UINT16_MAX;  // bytes

// Where an end record lies.
struct FoundEnd {
  std::size_t offset = 0;  // in what was searched; bytes
  std::size_t behind = 0;  // bytes that follow its comment
};

// Returns the last end record in `tail` whose comment ends where `tail` does.
// If none does, returns the last one with a whole comment. Returns nothing if
// there is none, or if more than kLongestComment bytes follow it. `tail` is the
// end of the archive.
std::optional<FoundEnd> FindEnd(absl::Span<const std::uint8_t> tail);

// Says what the directory is.
struct ZipEnd {
  std::uint64_t directory_offset = 0;  // by the writer's count; bytes
  std::uint64_t directory_bytes = 0;
  std::uint64_t members = 0;
  // Whether `members` is the last 16 bits of their number.
  bool short_count = false;
};

// Reads an end record of kEndBytes bytes, which begins with its signature.
// UNIMPLEMENTED: the archive is split.
absl::StatusOr<ZipEnd> ParseEnd(absl::Span<const std::uint8_t> record);

// Reads the kLocatorBytes bytes before an end record. Returns where the larger
// one lies, by the writer's count; nothing if they are no locator.
// UNIMPLEMENTED: the archive is split.
absl::StatusOr<std::optional<std::uint64_t>> ParseLocator(
    absl::Span<const std::uint8_t> locator);

// Reads the first kEnd64Bytes bytes of a larger end record, which is `length`
// bytes long. Returns nothing if there is none of that length. UNIMPLEMENTED:
// the archive is split.
absl::StatusOr<std::optional<ZipEnd>> ParseEnd64(
    absl::Span<const std::uint8_t> record, std::uint64_t length);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_END_H_
