// RandomHorizontalFlip and RandomVerticalFlip.

#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {
namespace {

// Mirrors an image with probability `p`, left to right or top to bottom.
class RandomFlip final : public ImageOp {
 public:
  RandomFlip(bool horizontal, double p)
      : horizontal_(horizontal), p_(static_cast<float>(p)) {}

  // The choice is a bool: whether to flip.
  absl::StatusOr<transform::Drawn> Draw(
      transform::ImageExtent /*extent*/,
      transform::Draws& draws) const override {
    return transform::Drawn(draws.Unit() < p_);
  }
  absl::Status Apply(const transform::Drawn& drawn,
                     OpTarget& target) const override {
    if (drawn.As<bool>()) target.Flip(horizontal_);
    return absl::OkStatus();
  }

 private:
  const bool horizontal_;
  const float p_;
};

}  // namespace

absl::Status Add(const proto::RandomHorizontalFlip& op,
                 ProgramBuilder& program) {
  program.Append(std::make_unique<RandomFlip>(/*horizontal=*/true, op.p()));
  return absl::OkStatus();
}

absl::Status Add(const proto::RandomVerticalFlip& op, ProgramBuilder& program) {
  program.Append(std::make_unique<RandomFlip>(/*horizontal=*/false, op.p()));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
