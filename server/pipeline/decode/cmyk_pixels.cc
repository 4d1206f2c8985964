#include "server/pipeline/decode/cmyk_pixels.h"

namespace forebay::pipeline::decode {
namespace {

// Returns how much of `light` an ink lets through: light - ink * light / 255,
// rounded as in Pillow's Convert.c.
std::uint8_t InkToLight(unsigned ink, unsigned light) {
  const unsigned product = ink * light + 128;
  return static_cast<std::uint8_t>(light - ((product >> 8) + product) / 256);
}

}  // namespace

void CmykToRgb(std::uint8_t* row, std::uint32_t width) {
  // An RGB pixel has three bytes and a CMYK pixel four, so each write goes over
  // CMYK pixels that have been read already.
  const std::uint8_t* in = row;
  for (std::uint32_t x = 0; x < width; ++x, in += 4, row += 3) {
    const unsigned light = in[3];
    const unsigned c = 255U - in[0];
    const unsigned m = 255U - in[1];
    const unsigned y = 255U - in[2];
    row[0] = InkToLight(c, light);
    row[1] = InkToLight(m, light);
    row[2] = InkToLight(y, light);
  }
}

}  // namespace forebay::pipeline::decode
