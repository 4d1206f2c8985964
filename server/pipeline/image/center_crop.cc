#include <cmath>

#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {
namespace {

// Returns the first pixel of a central crop along an axis. The number is
// negative if the crop is longer than the image, which torchvision then pads.
// Like Python's round, halves go to the even neighbour.
std::int64_t StartOf(std::int64_t crop, std::int64_t image) {
  if (crop > image) return -((crop - image) / 2);
  return std::llrint(static_cast<double>(image - crop) / 2.0);
}

// Crops the middle of an image.
class CenterCrop final : public ImageOp {
 public:
  explicit CenterCrop(transform::ImageExtent crop) : crop_(crop) {}

  absl::Status Apply(const transform::Drawn& /*drawn*/,
                     OpTarget& target) const override {
    const transform::ImageExtent image = target.extent();
    return target.Crop({StartOf(crop_.width, image.width),
                        StartOf(crop_.height, image.height), crop_.width,
                        crop_.height});
  }
  // An image may be smaller than the crop.
  bool may_show_fill() const override { return true; }
  // A crop as the first op leaves its variant nearly as large as the decoded
  // image, and of use to fewer pipelines. A prefix therefore never begins with
  // a crop.
  std::vector<std::int64_t> prefix_key() const override {
    return {proto::Op::kCenterCropFieldNumber, crop_.height, crop_.width};
  }

 private:
  const transform::ImageExtent crop_;
};

}  // namespace

absl::Status Add(const proto::CenterCrop& op, ProgramBuilder& program) {
  const transform::ImageExtent crop{op.width(), op.height()};
  program.SetExtent(crop);
  program.Append(std::make_unique<CenterCrop>(crop));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
