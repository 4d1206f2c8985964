#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_GEOMETRY_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_GEOMETRY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/ops.h"

namespace forebay::pipeline::transform {

// Computes the sizes and windows of geometric ops for one sample, without
// reading pixels. Arithmetic, rounding and the order of draws are those of
// torchvision v2. Functions are thread-safe and never block.

// The size of an image in pixels.
struct ImageExtent {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// A window of an image, in pixels. The window may reach beyond the image; its
// pixels there are padding.
struct CropWindow {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// A padding of an image, and a crop of the padded image.
struct PaddedWindow {
  Padding padding;
  CropWindow window;
};

// Returns the size of an image behind a Resize.
ImageExtent ResizedExtent(const Resize& op, ImageExtent image);
// Returns the window of a CenterCrop. If the image is smaller, the window
// reaches beyond it.
CropWindow CenterWindow(const CenterCrop& op, ImageExtent image);
// Draws the window of a RandomCrop. INVALID_ARGUMENT: the image, padded, is
// smaller than the crop.
absl::StatusOr<PaddedWindow> DrawWindow(const RandomCrop& op, ImageExtent image,
                                        Draws& draws);
// Draws the window of a RandomResizedCrop, which lies within the image.
CropWindow DrawWindow(const RandomResizedCrop& op, ImageExtent image,
                      Draws& draws);
// Draws whether to flip.
bool DrawFlip(const RandomFlip& op, Draws& draws);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_GEOMETRY_H_
