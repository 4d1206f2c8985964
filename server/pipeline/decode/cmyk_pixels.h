#ifndef FOREBAY_SERVER_PIPELINE_DECODE_CMYK_PIXELS_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_CMYK_PIXELS_H_

#include <cstdint>

namespace forebay::pipeline::decode {

// Converts a row of `width` CMYK pixels to RGB in place, with Pillow's
// arithmetic. The inks are inverted, as in Adobe's files. Thread-safe; never
// blocks; no errors.
void CmykToRgb(std::uint8_t* row, std::uint32_t width);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_CMYK_PIXELS_H_
