#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_FRAME_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_FRAME_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::storage::compressed {

// The header of a zstd frame (RFC 8878, 3.1.1.1) or of a skippable frame
// (3.1.2).
struct ZstdFrame {
  // The bytes of the header, Magic_Number included.
  std::uint64_t header_bytes = 0;
  // Whether this is a skippable frame, which has no content: decoders skip the
  // `skipped_bytes` bytes after its header.
  bool is_skipped = false;
  std::uint32_t skipped_bytes = 0;
  // How many of the latest bytes of content a decoder has to keep
  // (Window_Size).
  std::uint64_t window_bytes = 0;
  // The bytes that the frame decompresses to, if the header tells
  // (Frame_Content_Size).
  std::optional<std::uint64_t> content_bytes;
  // Whether Dictionary_ID names a dictionary that the decoder needs.
  bool has_dictionary = false;

  bool operator==(const ZstdFrame&) const = default;
};

// The bytes of the longest header: 4 of Magic_Number and 14 of Frame_Header.
inline constexpr std::uint64_t kZstdHeaderBytes = 18;

// Returns the header of the frame that begins with `start`, or nothing if more
// bytes are needed to tell. Thread-safe; never blocks. DATA_LOSS: no frame
// begins with these bytes; the message is only the reason.
absl::StatusOr<std::optional<ZstdFrame>> ParseZstdFrame(
    absl::Span<const std::uint8_t> start);

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_ZSTD_FRAME_H_
