#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_PLANES_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_PLANES_H_

#include <cstddef>
#include <cstdint>

namespace forebay::pipeline::transform {

inline constexpr int kColors = 3;

// Rows of vector code's planes are a multiple of this many bytes. Vectors are
// never longer.
inline constexpr std::size_t kPlaneUnit = 64;

constexpr std::size_t PlanePitch(std::size_t width) {
  return (width + kPlaneUnit - 1) / kPlaneUnit * kPlaneUnit;
}

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_PLANES_H_
