#ifndef FOREBAY_SERVER_PIPELINE_DECODE_GIF_CODES_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_GIF_CODES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// The outcome of checking a frame's codes.
enum class GifCodes {
  // The codes reach to the last pixel.
  kWhole,
  // The codes end before the last pixel.
  kTruncated,
  // A code stands for no string of the code table.
  kCorrupt,
};

// Follows the LZW codes of a frame up to its last pixel, without making pixels.
// giflib would make pixels of codes that have no string. Pillow refuses such
// images. `data` begins with the first sub-block's size (GIF89a, section 15).
// `bits` is the LZW minimum code size, at most 8. Thread-safe; never blocks.
GifCodes CheckGifCodes(absl::Span<const std::uint8_t> data, unsigned bits,
                       std::uint64_t pixels);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_GIF_CODES_H_
