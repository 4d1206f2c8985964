#ifndef FOREBAY_SERVER_PIPELINE_DECODE_GIF_CODES_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_GIF_CODES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

enum class GifCodes {
  kWhole,
  kTruncated,  // the codes end before the last pixel
  kCorrupt,    // a code stands for nothing yet
};

// Follows the LZW codes of a frame up to its last pixel, without making pixels.
// giflib makes pixels of codes that stand for nothing, where Pillow refuses the
// image. `data` begins with the first sub-block's length; `bits` is the minimum
// code size, at most 8. Thread-safe; never blocks.
GifCodes CheckGifCodes(absl::Span<const std::uint8_t> data, unsigned bits,
                       std::uint64_t pixels);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_GIF_CODES_H_
