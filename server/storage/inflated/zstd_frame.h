#ifndef FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_FRAME_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_FRAME_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::storage::inflated {

// The header of a zstd frame (RFC 8878, section 3.1).
struct ZstdFrame {
  std::uint64_t header_bytes = 0;
  // Whether it has no content, but bytes that decoders skip: `skipped_bytes`
  // behind the header.
  bool is_skipped = false;
  std::uint32_t skipped_bytes = 0;
  // The last bytes of the content that a decoder has to keep.
  std::uint64_t window_bytes = 0;
  std::optional<std::uint64_t> content_bytes;
  bool has_dictionary = false;

  bool operator==(const ZstdFrame&) const = default;
};

// The longest header.
inline constexpr std::uint64_t kZstdHeaderBytes = 18;

// Returns the frame that begins so; nothing if more bytes are needed to tell.
// Thread-safe; never blocks. DATA_LOSS, with a reason alone: no frame begins
// so.
absl::StatusOr<std::optional<ZstdFrame>> ParseZstdFrame(
    absl::Span<const std::uint8_t> start);

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_ZSTD_FRAME_H_
