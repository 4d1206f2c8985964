#include <algorithm>
#include <array>
#include <cmath>

#include "server/base/status.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/image/op_parameters.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::image {
namespace {

using transform::CropWindow;
using transform::ImageExtent;

// Number of random windows that the op tries before it takes the central crop.
constexpr int kTries = 10;

// Rounds like Python's round: halves go to the even neighbour.
std::int64_t Round(double value) { return std::llrint(value); }

// Crops a part of random area and aspect ratio, and scales it to a size.
class RandomResizedCrop final : public ImageOp {
 public:
  explicit RandomResizedCrop(const proto::RandomResizedCrop& op)
      : output_{op.width(), op.height()},
        scale_{op.scale_min(), op.scale_max()},
        ratio_{op.ratio_min(), op.ratio_max()},
        log_ratio_{Log(op.ratio_min()), Log(op.ratio_max())},
        filter_(FilterOf(op.interpolation())) {}

  // The choice is a CropWindow, which lies within the image.
  absl::StatusOr<transform::Drawn> Draw(
      ImageExtent image, transform::Draws& draws) const override {
    const double area =
        static_cast<double>(image.width) * static_cast<double>(image.height);
    for (int i = 0; i < kTries; ++i) {
      const double target = area * UniformFloat(draws, scale_[0], scale_[1]);
      // The logarithm of the ratio is drawn uniformly, in float32 as torch
      // does.
      const double aspect = static_cast<float>(transform::ExactExp(
          UniformFloat(draws, log_ratio_[0], log_ratio_[1])));
      const std::int64_t width = Round(std::sqrt(target * aspect));
      const std::int64_t height = Round(std::sqrt(target / aspect));
      if (width <= 0 || width > image.width || height <= 0 ||
          height > image.height) {
        continue;
      }
      CropWindow window{0, 0, width, height};
      window.top =
          static_cast<std::int64_t>(draws.Below(image.height - height + 1));
      window.left =
          static_cast<std::int64_t>(draws.Below(image.width - width + 1));
      return transform::Drawn(window);
    }
    return transform::Drawn(CentralCrop(image));
  }

  absl::Status Apply(const transform::Drawn& drawn,
                     OpTarget& target) const override {
    FOREBAY_RETURN_IF_ERROR(target.Crop(drawn.As<CropWindow>()));
    return target.Resize(output_, filter_);
  }

 private:
  // Returns the logarithm of a ratio in float32, as torch computes it.
  static float Log(double ratio) {
    return static_cast<float>(transform::ExactLog(static_cast<float>(ratio)));
  }

  // Returns the largest central window whose aspect ratio is within the op's
  // range. The op takes this window if no drawn window fits into the image.
  CropWindow CentralCrop(ImageExtent image) const {
    const double in_ratio =
        static_cast<double>(image.width) / static_cast<double>(image.height);
    const auto [low, high] = ratio_;
    CropWindow window{0, 0, image.width, image.height};
    if (in_ratio < low) {
      window.height = Round(static_cast<double>(image.width) / low);
    } else if (in_ratio > high) {
      window.width = Round(static_cast<double>(image.height) * high);
    }
    window.width = std::clamp<std::int64_t>(window.width, 1, image.width);
    window.height = std::clamp<std::int64_t>(window.height, 1, image.height);
    window.left = (image.width - window.width) / 2;
    window.top = (image.height - window.height) / 2;
    return window;
  }

  const ImageExtent output_;
  // Least and greatest area of the crop, relative to the image's area.
  const std::array<double, 2> scale_;
  // Least and greatest aspect ratio of the crop: its width divided by its
  // height.
  const std::array<double, 2> ratio_;
  const std::array<float, 2> log_ratio_;
  const transform::Filter filter_;
};

}  // namespace

absl::Status Add(const proto::RandomResizedCrop& op, ProgramBuilder& program) {
  FOREBAY_RETURN_IF_ERROR(CheckOrder(op.scale_min(), op.scale_max(), "scale"));
  FOREBAY_RETURN_IF_ERROR(CheckOrder(op.ratio_min(), op.ratio_max(), "ratio"));
  program.SetExtent({op.width(), op.height()});
  program.Append(std::make_unique<RandomResizedCrop>(op));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
