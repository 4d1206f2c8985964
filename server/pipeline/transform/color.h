#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_COLOR_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_COLOR_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::transform {

// Interleaved RGB pixels; the number of bytes is a multiple of three. The
// functions below change pixels in place. Their arithmetic is that of
// torchvision on PIL images: Pillow's ImageEnhance, Blend.c and Convert.c. They
// are thread-safe, never block and have no errors.
using Pixels = absl::Span<std::uint8_t>;

// Blend each pixel: brightness with black, contrast with the image's mean gray,
// saturation with the pixel's own gray. `factor` is at least 0; 1 changes
// nothing.
void AdjustBrightness(Pixels pixels, float factor);
void AdjustContrast(Pixels pixels, float factor);
void AdjustSaturation(Pixels pixels, float factor);
// Turns the hue by -0.5 to 0.5 turns of the color wheel.
void AdjustHue(Pixels pixels, double turns);
// Sets all three colors to the luma (ITU-R BT.601).
void MakeGray(Pixels pixels);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_COLOR_H_
