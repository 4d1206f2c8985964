#ifndef FOREBAY_SERVER_PIPELINE_IMAGE_OP_TARGET_H_
#define FOREBAY_SERVER_PIPELINE_IMAGE_OP_TARGET_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/pipeline/transform/image_extent.h"
#include "server/pipeline/transform/padding.h"
#include "server/pipeline/transform/render.h"

namespace forebay::pipeline::image {

// The image that ops change. All ops change it through this interface, so
// anything that moves with the image's pixels can be a target, too.
//
// Not thread-safe. The caller owns the target. Never blocks. Errors: those of
// the decoder; RESOURCE_EXHAUSTED: too little scratch memory.
class OpTarget {
 public:
  virtual ~OpTarget() = default;

  // Returns the size of the image behind all changes so far.
  virtual transform::ImageExtent extent() const = 0;

  // Keeps a window of the image. The window may reach beyond the image on all
  // sides; the pixels there show the op's fill.
  virtual absl::Status Crop(const transform::CropWindow& window) = 0;
  // Adds pixels around the image. With PadMode::kConstant, they show the op's
  // fill.
  virtual absl::Status Pad(const transform::Padding& padding) = 0;
  // Scales the image to `extent`.
  virtual absl::Status Resize(transform::ImageExtent extent,
                              transform::Filter filter) = 0;
  // Mirrors the image, left to right if `horizontal`, else top to bottom.
  virtual void Flip(bool horizontal) = 0;
  // Lets `change` change the image's pixels in place, once.
  virtual absl::Status ChangePixels(
      absl::FunctionRef<void(const transform::ScratchImage&)> change) = 0;
};

}  // namespace forebay::pipeline::image

#endif  // FOREBAY_SERVER_PIPELINE_IMAGE_OP_TARGET_H_
