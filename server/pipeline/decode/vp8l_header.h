#ifndef FOREBAY_SERVER_PIPELINE_DECODE_VP8L_HEADER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_VP8L_HEADER_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// The numbers that decide how much memory the Huffman tables of a lossless WebP
// image take.
struct Vp8lTables {
  // Sets of Huffman tables; libwebp makes room for all of them at once.
  std::uint32_t sets = 1;
  // Bits of an index of the color cache; 0 if there is no color cache.
  std::uint32_t cache_bits = 0;
};

// Reads a VP8L stream up to the Huffman codes of the image itself.
// Subresolution images, which come before them, are decoded. Returns nullopt if
// libwebp would refuse this part of the stream, or if a subresolution image has
// more than `most_pixels` pixels. Takes any input. Thread-safe; never blocks.
// Reads each bit once, and allocates four bytes for each pixel of a
// subresolution image.
std::optional<Vp8lTables> ReadVp8lTables(absl::Span<const std::uint8_t> stream,
                                         std::uint64_t most_pixels);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_VP8L_HEADER_H_
