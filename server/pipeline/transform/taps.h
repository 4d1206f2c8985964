#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_TAPS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_TAPS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/pipeline/transform/axis_view.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::transform {

// Fixed-point weights have this many fraction bits, as Pillow's.
inline constexpr int kWeightBits = 32 - 8 - 2;

// How each position of an axis is made from the image's pixels:
//   clip8((2^21 + sum of weight * pixel) >> 22)
// over `count` neighbouring pixels. A plain copy is one tap of weight 2^22.
struct Taps {
  std::int32_t length = 0;  // positions
  std::int32_t count = 0;   // taps of each position
  // The image's pixels that are used: first to end - 1. Never empty; no tap
  // lies outside.
  std::int64_t first = 0;
  std::int64_t end = 0;
  // Whether sums may leave 0..255 and must be clipped.
  bool clip = false;
  const std::int32_t* start = nullptr;    // [length], relative to `first`
  const std::int32_t* weights = nullptr;  // [length][count]
};

// An axis of an image that is read at a smaller scale. Pixel i stands for those
// from i * factor - before on.
struct AxisScale {
  std::int64_t factor = 1;
  std::int64_t before = 0;
};

// The weights are Pillow's, bit for bit (Resample.c: precompute_coeffs and
// normalize_coeffs_8bpc; Geometry.c: ImagingScaleAffine for nearest).
// Positions that show a fill get any taps. The tables live in `scratch`, whose
// RESOURCE_EXHAUSTED is the only error. With a `scale`, whose factor must not
// be more than the view shrinks its window by a filter, pixels are those of the
// smaller image, and the window's edges may lie within one.
absl::StatusOr<Taps> MakeTaps(const AxisView& view, Scratch& scratch,
                              AxisScale scale = {});

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_TAPS_H_
