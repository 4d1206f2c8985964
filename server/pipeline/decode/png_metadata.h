#ifndef FOREBAY_SERVER_PIPELINE_DECODE_PNG_METADATA_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_PNG_METADATA_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// A text in a PNG file.
struct PngText {
  absl::Span<const std::uint8_t> bytes;
  bool is_packed = false;  // by zlib
};

// The metadata of a PNG file, where Pillow finds them; the last of each count.
struct PngMetadata {
  std::optional<absl::Span<const std::uint8_t>> exif;
  PngText exif_profile;  // EXIF data in hexadecimal, as ImageMagick has them
  PngText xmp;
};

// Functions take any input, are thread-safe and never block.

// Returns what points into `file`, whose first bytes are those of a PNG.
PngMetadata FindPngMetadata(absl::Span<const std::uint8_t> file);

// Returns a text, which lies in `room` if it is packed. Empty: it is damaged,
// or longer than the 1 MiB that Pillow takes.
absl::Span<const std::uint8_t> Unpack(const PngText& text,
                                      std::vector<std::uint8_t>* room);

// Returns the EXIF data that a profile, which is no more packed, has; empty if
// it is malformed.
std::vector<std::uint8_t> ExifInProfile(absl::Span<const std::uint8_t> profile);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_PNG_METADATA_H_
