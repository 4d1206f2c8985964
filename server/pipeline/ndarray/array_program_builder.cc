#include "server/pipeline/ndarray/array_program_builder.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::pipeline::ndarray {

ArrayProgramBuilder::ArrayProgramBuilder(const transform::TensorType& longest,
                                         std::optional<std::size_t> ragged_axis)
    : input_dtype_(longest.dtype),
      program_{.ops = {}, .steps = ElementSteps(longest.dtype)},
      shape_(longest.shape),
      ragged_axis_(ragged_axis),
      origin_(longest.shape.size()) {
  std::iota(origin_.begin(), origin_.end(), 0);
}

absl::StatusOr<std::size_t> ArrayProgramBuilder::AxisOf(
    std::int64_t axis) const {
  const auto count = static_cast<std::int64_t>(shape_.size());
  if (axis >= -count && axis < count)
    return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
  return absl::InvalidArgumentError(
      absl::StrCat("axis is ", axis, ", but the array has ", count, " axes"));
}

absl::Status ArrayProgramBuilder::CheckNoSteps() const {
  if (program_.steps.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "takes a part or reorders axes: put it before ToDtype and Normalize");
}

void ArrayProgramBuilder::FixLength(std::size_t axis, std::uint64_t length) {
  shape_[axis] = length;
  if (ragged_axis_ == axis) ragged_axis_.reset();
  if (!fixed_.has_value()) fixed_ = origin_[axis];
}

void ArrayProgramBuilder::Permute(absl::Span<const std::uint8_t> order) {
  const std::vector<std::uint64_t> shape = shape_;
  const std::vector<std::size_t> origin = origin_;
  const std::optional<std::size_t> ragged_axis = ragged_axis_;
  for (std::size_t i = 0; i < order.size(); ++i) {
    shape_[i] = shape[order[i]];
    origin_[i] = origin[order[i]];
    if (ragged_axis == order[i]) ragged_axis_ = i;
  }
}

void ArrayProgramBuilder::Append(std::unique_ptr<const ArrayOp> op) {
  FOREBAY_CHECK(program_.steps.empty());
  program_.ops.push_back({.op = std::move(op), .stream = stream_});
}

}  // namespace forebay::pipeline::ndarray
