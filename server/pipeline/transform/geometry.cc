#include "server/pipeline/transform/geometry.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::transform {
namespace {

// Number of random windows that a RandomResizedCrop tries before it takes the
// central crop.
constexpr int kTries = 10;

// Rounds like Python's round: halves go to the even neighbour.
std::int64_t Round(double value) { return std::llrint(value); }

// The start of a central crop along one axis.
struct Start {
  // Pixels of padding before the image.
  std::int64_t before = 0;
  // Start of the crop in the padded image.
  std::int64_t at = 0;
};

// Returns the start of a central crop of `crop` pixels. Like torchvision, pads
// an image that is smaller.
Start CenterStart(std::int64_t crop, std::int64_t image) {
  if (crop > image) return {(crop - image) / 2, 0};
  return {0, Round(static_cast<double>(image - crop) / 2.0)};
}

// Returns the largest central window whose aspect ratio is within the op's
// range. RandomResizedCrop takes this window if no drawn window fits into the
// image.
CropWindow CentralCrop(const RandomResizedCrop& op, ImageExtent image) {
  const double in_ratio =
      static_cast<double>(image.width) / static_cast<double>(image.height);
  const auto [low, high] = op.ratio;
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

}  // namespace

ImageExtent ResizedExtent(const Resize& op, ImageExtent image) {
  if (op.width != 0) return {op.width, op.height};
  // Torchvision truncates the longer side to an integer. If max_size bounds the
  // longer side, torchvision computes the shorter side in the same way.
  const bool upright = image.width <= image.height;
  const double shorter =
      static_cast<double>(upright ? image.width : image.height);
  const double longer =
      static_cast<double>(upright ? image.height : image.width);
  std::int64_t new_short = op.height;
  auto new_long = static_cast<std::int64_t>(static_cast<double>(op.height) *
                                            longer / shorter);
  if (op.max_size != 0 && new_long > op.max_size) {
    new_short =
        static_cast<std::int64_t>(static_cast<double>(op.max_size * new_short) /
                                  static_cast<double>(new_long));
    new_short = std::max<std::int64_t>(new_short, 1);
    new_long = op.max_size;
  }
  return upright ? ImageExtent{new_short, new_long}
                 : ImageExtent{new_long, new_short};
}

CropWindow CenterWindow(const CenterCrop& op, ImageExtent image) {
  const Start x = CenterStart(op.width, image.width);
  const Start y = CenterStart(op.height, image.height);
  return {x.at - x.before, y.at - y.before, op.width, op.height};
}

absl::StatusOr<PaddedWindow> DrawWindow(const RandomCrop& op, ImageExtent image,
                                        Draws& draws) {
  PaddedWindow result{op.padding, {0, 0, op.width, op.height}};
  Padding& padding = result.padding;
  std::int64_t width = image.width + padding.left + padding.right;
  std::int64_t height = image.height + padding.top + padding.bottom;
  if (op.pad_if_needed) {
    // Each side is padded by the whole difference, as in torchvision. A padded
    // image is therefore larger than the crop, and the crop's place is drawn.
    const std::int64_t x = std::max<std::int64_t>(op.width - width, 0);
    const std::int64_t y = std::max<std::int64_t>(op.height - height, 0);
    padding.left += x;
    padding.right += x;
    padding.top += y;
    padding.bottom += y;
    width += 2 * x;
    height += 2 * y;
  }
  if (width < op.width || height < op.height) {
    return absl::InvalidArgumentError(absl::StrCat(
        "RandomCrop(", op.height, ", ", op.width, ") is larger than the ",
        width, " x ", height, " image: set pad_if_needed"));
  }
  // No number is drawn for an axis that is as long as the crop.
  if (height > op.height)
    result.window.top =
        static_cast<std::int64_t>(draws.Below(height - op.height + 1));
  if (width > op.width)
    result.window.left =
        static_cast<std::int64_t>(draws.Below(width - op.width + 1));
  return result;
}

CropWindow DrawWindow(const RandomResizedCrop& op, ImageExtent image,
                      Draws& draws) {
  const double area =
      static_cast<double>(image.width) * static_cast<double>(image.height);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * UniformFloat(draws, op.scale[0], op.scale[1]);
    // The logarithm of the ratio is drawn uniformly, in float32 as torch does.
    const double aspect = static_cast<float>(
        ExactExp(UniformFloat(draws, op.log_ratio[0], op.log_ratio[1])));
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
    return window;
  }
  return CentralCrop(op, image);
}

bool DrawFlip(const RandomFlip& op, Draws& draws) {
  return draws.Unit() < op.p;
}

}  // namespace forebay::pipeline::transform
