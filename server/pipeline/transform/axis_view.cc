// Follows one axis through crops, flips, pads and a resize. While the view is
// an ascending or descending window, two numbers (`first_` and `step_`)
// describe it. A crop beyond the axis, or a pad, needs a table with an entry
// for each position. A new table is made from the view before it. An op on a
// table therefore takes time in proportion to the table's length, not to the
// image's.

#include "server/pipeline/transform/axis_view.h"

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::pipeline::transform {
namespace {

// Returns the position, 0 to n - 1, that padding shows at position `i`, as in
// NumPy's pad.
std::int64_t Reflected(std::int64_t i, std::int64_t n, PadMode mode) {
  if (i >= 0 && i < n) return i;
  if (mode == PadMode::kEdge) return i < 0 ? 0 : n - 1;
  const bool repeat_edge = mode == PadMode::kSymmetric;
  const std::int64_t period = repeat_edge ? 2 * n : 2 * n - 2;
  if (period == 0) return 0;
  i %= period;
  if (i < 0) i += period;
  if (i < n) return i;
  return repeat_edge ? period - 1 - i : period - i;
}

}  // namespace

template <typename Source>
absl::Status AxisView::Remap(std::int64_t length, Scratch& scratch,
                             Source source) {
  FOREBAY_ASSIGN_OR_RETURN(std::int32_t * table,
                           scratch.Allocate<std::int32_t>(
                               static_cast<std::uint64_t>(length), "padding"));
  for (std::int64_t i = 0; i < length; ++i)
    table[i] = static_cast<std::int32_t>(source(i));
  table_ = table;
  length_ = length;
  return absl::OkStatus();
}

void AxisView::Flip() {
  if (table_ == nullptr) {
    first_ += step_ * (length_ - 1);
    step_ = -step_;
    return;
  }
  for (std::int64_t i = 0, j = length_ - 1; i < j; ++i, --j) {
    const std::int32_t kept = table_[i];
    table_[i] = table_[j];
    table_[j] = kept;
  }
}

absl::Status AxisView::Crop(std::int64_t start, std::int64_t length, int fill,
                            Scratch& scratch) {
  if (table_ == nullptr && start >= 0 && start + length <= length_) {
    first_ += step_ * start;
    length_ = length;
    return absl::OkStatus();
  }
  const std::int64_t old_length = length_;
  // `old` is a copy of this view, from whose table the new table is computed.
  // The old table stays valid: scratch memory is not taken back before the
  // sample is done.
  return Remap(length, scratch, [&, old = *this](std::int64_t i) {
    const std::int64_t at = start + i;
    if (at >= 0 && at < old_length) return old.At(at);
    has_fill_ = true;
    return std::int64_t{-1} - fill;
  });
}

absl::Status AxisView::Pad(std::int64_t before, std::int64_t after,
                           PadMode mode, int fill, Scratch& scratch) {
  if (before == 0 && after == 0) return absl::OkStatus();
  if (mode == PadMode::kConstant)
    return Crop(-before, length_ + before + after, fill, scratch);
  return Remap(length_ + before + after, scratch,
               [&, old = *this](std::int64_t i) {
                 return old.At(Reflected(i - before, old.length_, mode));
               });
}

void AxisView::Resize(std::int64_t length, Filter filter) {
  FOREBAY_CHECK(CanResize());
  if (length == length_) return;
  // The resize works on an ascending window. window_reversed_ keeps the
  // direction.
  window_reversed_ = step_ < 0;
  window_first_ = window_reversed_ ? first_ - (length_ - 1) : first_;
  window_length_ = length_;
  resized_ = true;
  filter_ = filter;
  grid_length_ = length;
  length_ = length;
  first_ = 0;
  step_ = 1;
}

}  // namespace forebay::pipeline::transform
