#include <algorithm>
#include <utility>

#include "server/base/status.h"
#include "server/pipeline/ndarray/array_ops.h"

namespace forebay::pipeline::ndarray {
namespace {

// Takes a Python slice of one axis, with step 1.
class Slice final : public ArrayOp {
 public:
  Slice(const proto::Slice& op, std::size_t axis)
      : axis_(axis), start_(op.start()) {
    if (op.has_stop()) stop_ = op.stop();
  }

  void Apply(const transform::Drawn& /*drawn*/,
             ArrayView& view) const override {
    const auto [begin, length] = PartOf(view.axes()[axis_].length);
    view.Cut(axis_, begin, length);
  }
  AxisLength Follow(AxisLength input) const override {
    if (input.axis == axis_) input.length = PartOf(input.length).second;
    return input;
  }
  bool takes_part_of_first_axis() const override { return axis_ == 0; }

 private:
  // Returns the begin and length of the slice, in an axis of `length` elements.
  std::pair<std::uint64_t, std::uint64_t> PartOf(std::uint64_t length) const {
    const auto count = static_cast<std::int64_t>(length);
    const auto place = [count](std::int64_t at) {
      if (at < 0) at = std::max<std::int64_t>(at, -count) + count;
      return std::min(at, count);
    };
    const std::int64_t begin = place(start_);
    const std::int64_t end = stop_.has_value() ? place(*stop_) : count;
    return {begin, end > begin ? end - begin : 0};
  }

  const std::size_t axis_;
  // First index. A negative index counts from the axis's end, as in Python.
  const std::int64_t start_;
  // Index behind the last one, also as in Python; nullopt means the axis's end.
  std::optional<std::int64_t> stop_;
};

}  // namespace

absl::Status Add(const proto::Slice& op, ArrayProgramBuilder& program) {
  FOREBAY_RETURN_IF_ERROR(program.CheckNoSteps());
  FOREBAY_ASSIGN_OR_RETURN(const std::size_t axis, program.AxisOf(op.axis()));
  auto slice = std::make_unique<const Slice>(op, axis);
  const std::uint64_t length = program.shape()[axis];
  if (program.ragged_axis() != axis) {
    program.SetLength(axis, slice->Follow({axis, length}).length);
    // If a bound counts from the ragged axis's end, the largest length stays as
    // it is: an upper bound is enough.
  } else if (op.start() >= 0 && op.has_stop() && op.stop() >= 0) {
    const std::int64_t most = std::max<std::int64_t>(op.stop() - op.start(), 0);
    program.SetLength(axis, std::min(length, static_cast<std::uint64_t>(most)));
  }
  program.Append(std::move(slice));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::ndarray
