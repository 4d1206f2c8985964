#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_TAPS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_TAPS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/pipeline/transform/axis_view.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::transform {

// Number of fraction bits of fixed-point weights, as in Pillow's Resample.c: 32
// bits, less 8 bits for the pixel and 2 bits for sums.
inline constexpr int kWeightBits = 32 - 8 - 2;

// The weights that make each position of an axis from the image's pixels. The
// value of a position, with a sum over `count` neighbouring pixels, is:
//   clip8((2^21 + sum of weight * pixel) >> 22)
// A position that copies a pixel has one tap of weight 2^22.
struct Taps {
  // Number of positions of the axis.
  std::int32_t length = 0;
  // Number of taps of each position. A position that needs fewer has taps of
  // weight 0.
  std::int32_t count = 0;
  // Pixels of the image that are used: `first` to `end` - 1. The range is never
  // empty, and all taps lie within it.
  std::int64_t first = 0;
  std::int64_t end = 0;
  // Whether sums may lie outside of 0 to 255, and must be clipped.
  bool clip = false;
  // First tap of each position, relative to `first`.
  const std::int32_t* start = nullptr;
  // Weights of each position, `count` for each.
  const std::int32_t* weights = nullptr;
};

// The scale at which an axis of the image is decoded. Pixel i of the smaller
// image stands for `factor` pixels of the image, the first of which is pixel
// i * factor - before.
struct AxisScale {
  std::int64_t factor = 1;
  std::int64_t before = 0;
};

// Makes the taps of a view. Weights are Pillow's, bit for bit (Resample.c:
// precompute_coeffs and normalize_coeffs_8bpc; Geometry.c: ImagingScaleAffine
// for the nearest pixel). Positions that show a fill have the taps of another
// position. The tables lie in `scratch`. The only error is RESOURCE_EXHAUSTED:
// `scratch` has too little memory.
//
// With a `scale`, the taps are pixels of the smaller image, and an edge of the
// view's window may lie within such a pixel. scale.factor must not exceed the
// factor by which the view's filter shrinks its window. Thread-safe for
// different scratches; never blocks.
absl::StatusOr<Taps> MakeTaps(const AxisView& view, Scratch& scratch,
                              AxisScale scale = {});

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_TAPS_H_
