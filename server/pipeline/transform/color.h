#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_COLOR_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_COLOR_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/ops.h"

namespace forebay::pipeline::transform {

// Pixels are interleaved RGB, changed in place; their number is a multiple of
// three. Numerics are those of torchvision on PIL images: Pillow's
// ImageEnhance, Blend.c and Convert.c. Thread-safe; never blocks; no errors.
using Pixels = absl::Span<std::uint8_t>;

// factor >= 0; 1 changes nothing.
void AdjustBrightness(Pixels pixels, float factor);
void AdjustContrast(Pixels pixels, float factor);
void AdjustSaturation(Pixels pixels, float factor);
// -0.5 to 0.5 turns of the color wheel.
void AdjustHue(Pixels pixels, double turns);
// Makes all three colors the luma (ITU-R 601).
void MakeGray(Pixels pixels);

// The random choices of ColorJitter for one sample.
struct JitterDraw {
  enum Adjustment { kBrightness, kContrast, kSaturation, kHue };
  std::array<Adjustment, 4> order{};
  std::array<float, 4> factor{};  // by Adjustment
  std::array<bool, 4> set{};      // by Adjustment
};

JitterDraw DrawJitter(const ColorJitter& op, Draws& draws);
void Apply(const JitterDraw& draw, Pixels pixels);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_COLOR_H_
