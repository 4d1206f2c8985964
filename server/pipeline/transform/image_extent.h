#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_IMAGE_EXTENT_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_IMAGE_EXTENT_H_

#include <cstdint>

namespace forebay::pipeline::transform {

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

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_IMAGE_EXTENT_H_
