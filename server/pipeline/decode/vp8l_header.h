#ifndef FOREBAY_SERVER_PIPELINE_DECODE_VP8L_HEADER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_VP8L_HEADER_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Facts of a lossless WebP's image that decide how much memory its tables take.
struct Vp8lTables {
  // Sets of Huffman tables, each of which libwebp makes room for at once.
  std::uint32_t sets = 1;
  // Bits of the number of a color in the color cache; 0 if there is none.
  std::uint32_t cache_bits = 0;
};

// Reads a VP8L stream up to its Huffman codes. Returns nullopt if libwebp would
// refuse it before, or if its small images, of which it reads all, are larger
// than `most_pixels`. Takes any input. Thread-safe; does not block. Reads each
// bit once, and allocates four bytes for each pixel of a small image.
std::optional<Vp8lTables> ReadVp8lTables(absl::Span<const std::uint8_t> stream,
                                         std::uint64_t most_pixels);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_VP8L_HEADER_H_
