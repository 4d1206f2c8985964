#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/image/op_parameters.h"

namespace forebay::pipeline::image {
namespace {

using transform::ImageExtent;

// Scales an image to a size, or to a length of its shorter edge.
class Resize final : public ImageOp {
 public:
  explicit Resize(const proto::Resize& op)
      : height_(op.height()),
        width_(op.width()),
        max_size_(op.max_size()),
        filter_(FilterOf(op.interpolation())) {}

  absl::Status Apply(const transform::Drawn& /*drawn*/,
                     OpTarget& target) const override {
    return target.Resize(ExtentOf(target.extent()), filter_);
  }
  std::vector<std::int64_t> prefix_key() const override {
    return {proto::Op::kResizeFieldNumber, height_, width_, max_size_,
            static_cast<std::int64_t>(filter_)};
  }
  bool may_begin_prefix() const override { return true; }

  // Returns the size of an image behind the op. Torchvision truncates the
  // longer edge to an integer. If max_size bounds the longer edge, torchvision
  // computes the shorter edge in the same way.
  ImageExtent ExtentOf(ImageExtent image) const {
    if (width_ != 0) return {width_, height_};
    const bool upright = image.width <= image.height;
    const auto shorter =
        static_cast<double>(upright ? image.width : image.height);
    const auto longer =
        static_cast<double>(upright ? image.height : image.width);
    std::int64_t new_short = height_;
    auto new_long = static_cast<std::int64_t>(static_cast<double>(height_) *
                                              longer / shorter);
    if (max_size_ != 0 && new_long > max_size_) {
      new_short =
          static_cast<std::int64_t>(static_cast<double>(max_size_ * new_short) /
                                    static_cast<double>(new_long));
      new_short = std::max<std::int64_t>(new_short, 1);
      new_long = max_size_;
    }
    return upright ? ImageExtent{new_short, new_long}
                   : ImageExtent{new_long, new_short};
  }

 private:
  // Height; if `width_` is 0, the length of the shorter edge.
  const std::int64_t height_;
  const std::int64_t width_;
  // The most pixels of the longer edge; 0 if there is no bound.
  const std::int64_t max_size_;
  const transform::Filter filter_;
};

}  // namespace

absl::Status Add(const proto::Resize& op, ProgramBuilder& program) {
  if (op.max_size() != 0 && op.width() != 0) {
    return absl::InvalidArgumentError(
        "max_size goes with the shorter edge only, not with both sides");
  }
  // max_size must exceed the shorter edge, as in torchvision.
  if (op.max_size() != 0 && op.max_size() <= op.height()) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_size is ", op.max_size(),
                     ", not above the shorter edge's ", op.height()));
  }
  auto resize = std::make_unique<const Resize>(op);
  if (op.width() != 0) {
    program.SetExtent({op.width(), op.height()});
  } else if (program.extent().has_value()) {
    program.SetExtent(resize->ExtentOf(*program.extent()));
  }
  program.Append(std::move(resize));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
