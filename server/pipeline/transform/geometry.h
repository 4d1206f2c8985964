#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_GEOMETRY_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_GEOMETRY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/ops.h"

namespace forebay::pipeline::transform {

// The choices of geometric ops for one sample, apart from any pixels, so that
// every field of the sample can follow the same draw. Arithmetic, rounding and
// order of draws are torchvision v2's. Thread-safe; never blocks.

struct Extent {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// It may leave the image; pixels outside are padding.
struct Window {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

struct PaddedWindow {
  Padding padding;  // first this,
  Window window;    // then the crop of the padded image
};

Extent ResizedExtent(const Resize& op, Extent image);
Window CenterWindow(const CenterCrop& op, Extent image);
// INVALID_ARGUMENT: the (padded) image is smaller than the crop.
absl::StatusOr<PaddedWindow> DrawWindow(const RandomCrop& op, Extent image,
                                        Draws& draws);
Window DrawWindow(const RandomResizedCrop& op, Extent image, Draws& draws);
bool DrawFlip(const RandomFlip& op, Draws& draws);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_GEOMETRY_H_
