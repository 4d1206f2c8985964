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
  // Whether `bytes` is a zlib stream.
  bool is_compressed = false;
};

// The metadata that Pillow finds in a PNG file. If the file has several of a
// kind, the last one is used.
struct PngMetadata {
  // The content of an eXIf chunk, or of a text chunk with the keyword "exif".
  std::optional<absl::Span<const std::uint8_t>> exif;
  // EXIF data in hexadecimal, as ImageMagick writes it into a text chunk.
  PngText exif_profile;
  PngText xmp;
};

// The functions below take any input, are thread-safe and never block.

// Finds the metadata of a PNG file. The result points into `file`.
PngMetadata FindPngMetadata(absl::Span<const std::uint8_t> file);

// Returns a text's bytes. If the text is compressed, decompresses it into
// `room`; the result then points into `room`. Returns an empty span if the text
// is damaged, or longer than the 1 MiB that Pillow takes.
absl::Span<const std::uint8_t> Decompress(const PngText& text,
                                          std::vector<std::uint8_t>* room);

// Returns the EXIF data in a decompressed profile; empty if it is malformed.
std::vector<std::uint8_t> ExifInProfile(absl::Span<const std::uint8_t> profile);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_PNG_METADATA_H_
