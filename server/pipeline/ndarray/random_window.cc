#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/ndarray/array_ops.h"

namespace forebay::pipeline::ndarray {
namespace {

// Largest length of a window, in elements.
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 40;

// Takes `length` successive elements of an axis, at a random place.
class RandomWindow final : public ArrayOp {
 public:
  RandomWindow(const proto::RandomWindow& op, std::size_t axis)
      : axis_(axis), length_(op.length()), pads_(op.pad_if_needed()) {}

  // The choice is a std::uint64_t: the window's first index. No number is drawn
  // if the axis is not longer than the window.
  absl::StatusOr<transform::Drawn> Draw(
      const ArrayView& view, transform::Draws& draws) const override {
    const std::uint64_t length = view.axes()[axis_].length;
    if (length < length_ && !pads_) {
      return absl::InvalidArgumentError(
          absl::StrCat("has length ", length, ", less than a RandomWindow of ",
                       length_, ": set pad_if_needed"));
    }
    return transform::Drawn(length <= length_
                                ? std::uint64_t{0}
                                : draws.Below(length - length_ + 1));
  }
  void Apply(const transform::Drawn& drawn, ArrayView& view) const override {
    view.Cut(axis_, drawn.As<std::uint64_t>(), length_);
  }
  AxisLength Follow(AxisLength input) const override {
    if (input.axis == axis_) input.length = length_;
    return input;
  }
  bool takes_part_of_first_axis() const override { return axis_ == 0; }

 private:
  const std::size_t axis_;
  const std::uint64_t length_;  // elements
  // Whether shorter arrays are padded with zeros instead of refused.
  const bool pads_;
};

}  // namespace

absl::Status Add(const proto::RandomWindow& op, ArrayProgramBuilder& program) {
  FOREBAY_RETURN_IF_ERROR(program.CheckNoSteps());
  FOREBAY_ASSIGN_OR_RETURN(const std::size_t axis, program.AxisOf(op.axis()));
  const bool was_ragged = program.ragged_axis() == axis;
  const std::uint64_t length = program.shape()[axis];
  // FixLength comes before the checks, as its comment demands: the first array
  // may be shorter than the window although longer arrays are not.
  program.FixLength(axis, op.length());
  if (op.length() == 0 || op.length() > kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("length is ", op.length(), ", not 1 to ", kMaxLength));
  }
  if (!was_ragged && length < op.length() && !op.pad_if_needed()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is longer than the axis, which has length ", length,
                     ": set pad_if_needed"));
  }
  program.Append(std::make_unique<const RandomWindow>(op, axis));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::ndarray
