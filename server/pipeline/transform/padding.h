#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_PADDING_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_PADDING_H_

#include <cstdint>

namespace forebay::pipeline::transform {

// The pixels that padding shows: a color, the edge's pixel, or the mirrored
// image. kSymmetric repeats the edge's pixel in the mirrored image; kReflect
// does not.
enum class PadMode { kConstant, kEdge, kReflect, kSymmetric };

// Pixels to add around an image, at most 65,535 at each side.
struct Padding {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  PadMode mode = PadMode::kConstant;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_PADDING_H_
