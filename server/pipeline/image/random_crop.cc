#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/image/op_parameters.h"

namespace forebay::pipeline::image {
namespace {

using transform::ImageExtent;
using transform::Padding;

// The choices of a RandomCrop: a padding of the image, and a crop of the padded
// image.
struct PaddedWindow {
  Padding padding;
  transform::CropWindow window;
};

// Returns the size of a padded image.
ImageExtent PaddedExtent(ImageExtent image, const Padding& padding) {
  return {image.width + padding.left + padding.right,
          image.height + padding.top + padding.bottom};
}

// Pads an image, and crops it at a random place.
class RandomCrop final : public ImageOp {
 public:
  RandomCrop(const proto::RandomCrop& op, const Padding& padding)
      : crop_{op.width(), op.height()},
        padding_(padding),
        pad_if_needed_(op.pad_if_needed()) {}

  absl::StatusOr<transform::Drawn> Draw(
      ImageExtent image, transform::Draws& draws) const override {
    PaddedWindow result{padding_, {0, 0, crop_.width, crop_.height}};
    Padding& padding = result.padding;
    ImageExtent padded = PaddedExtent(image, padding);
    if (pad_if_needed_) {
      // Each side is padded by the whole difference, as in torchvision. A
      // padded image is therefore larger than the crop, and the crop's place is
      // drawn.
      const std::int64_t x =
          std::max<std::int64_t>(crop_.width - padded.width, 0);
      const std::int64_t y =
          std::max<std::int64_t>(crop_.height - padded.height, 0);
      padding.left += x;
      padding.right += x;
      padding.top += y;
      padding.bottom += y;
      padded = PaddedExtent(image, padding);
    }
    if (padded.width < crop_.width || padded.height < crop_.height) {
      return absl::InvalidArgumentError(
          absl::StrCat("RandomCrop(", crop_.height, ", ", crop_.width,
                       ") is larger than the ", padded.width, " x ",
                       padded.height, " image: set pad_if_needed"));
    }
    // No number is drawn for an axis that is as long as the crop.
    if (padded.height > crop_.height)
      result.window.top = static_cast<std::int64_t>(
          draws.Below(padded.height - crop_.height + 1));
    if (padded.width > crop_.width)
      result.window.left = static_cast<std::int64_t>(
          draws.Below(padded.width - crop_.width + 1));
    return transform::Drawn(result);
  }

  absl::Status Apply(const transform::Drawn& drawn,
                     OpTarget& target) const override {
    const auto [padding, window] = drawn.As<PaddedWindow>();
    FOREBAY_RETURN_IF_ERROR(target.Pad(padding));
    return target.Crop(window);
  }

  bool may_show_fill() const override {
    return padding_.mode == transform::PadMode::kConstant &&
           (pad_if_needed_ || padding_.left > 0 || padding_.top > 0 ||
            padding_.right > 0 || padding_.bottom > 0);
  }

 private:
  const ImageExtent crop_;
  const Padding padding_;
  // Whether images that are smaller than the crop are padded; if not, they are
  // errors.
  const bool pad_if_needed_;
};

}  // namespace

absl::Status Add(const proto::RandomCrop& op, ProgramBuilder& program) {
  const Padding padding = PaddingOf(op.padding());
  FOREBAY_ASSIGN_OR_RETURN(const ChannelValues fill,
                           FillOf(op.padding(), program.channels()));
  // If all images have one size, a crop that does not fit is refused now,
  // rather than at each sample.
  if (program.extent().has_value() && !op.pad_if_needed()) {
    const ImageExtent padded = PaddedExtent(*program.extent(), padding);
    if (padded.width < op.width() || padded.height < op.height()) {
      return absl::InvalidArgumentError(
          absl::StrCat("is larger than the ", program.extent()->width, " x ",
                       program.extent()->height, " image: set pad_if_needed"));
    }
  }
  program.SetExtent({op.width(), op.height()});
  program.Append(std::make_unique<RandomCrop>(op, padding), fill);
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
