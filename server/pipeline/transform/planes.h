#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_PLANES_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_PLANES_H_

#include <cstddef>
#include <cstdint>

namespace forebay::pipeline::transform {

// Colors of a pixel: red, green and blue.
inline constexpr int kColors = 3;

// The bytes from one row of a plane to the next are a multiple of this number.
// No vector is longer, so code may work on whole vectors.
inline constexpr std::size_t kPlaneUnit = 64;

// Returns the number of bytes from one row of a plane to the next.
constexpr std::size_t PlanePitch(std::size_t width) {
  return (width + kPlaneUnit - 1) / kPlaneUnit * kPlaneUnit;
}

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_PLANES_H_
