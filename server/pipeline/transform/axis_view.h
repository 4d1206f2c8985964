#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_AXIS_VIEW_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_AXIS_VIEW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/pipeline/transform/ops.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::transform {

// One axis of an image after crops, flips, pads and one resize, before any
// pixel is computed: which pixel of a *grid* each position shows. The grid is
// the axis of the image or, after the resize, that of a resized window of it. A
// position that shows no pixel shows a fill, by number. If two fills meet at a
// pixel, the higher number is on top.
//
// Not thread-safe. Borrows its tables from a Scratch until that is reset. Does
// not block. Errors: RESOURCE_EXHAUSTED: that of the Scratch.
class AxisView {
 public:
  explicit AxisView(std::int64_t image_length)
      : window_length_(image_length),
        grid_length_(image_length),
        length_(image_length) {}

  std::int64_t length() const { return length_; }
  bool resized() const { return resized_; }
  Filter filter() const { return filter_; }

  // The window of the image that is resized to grid_length().
  std::int64_t window_first() const { return window_first_; }
  std::int64_t window_length() const { return window_length_; }
  bool window_reversed() const { return window_reversed_; }
  std::int64_t grid_length() const { return grid_length_; }

  // Returns the grid position that `i` shows, or -1 - (number of the fill).
  std::int64_t At(std::int64_t i) const {
    return table_ != nullptr ? table_[i] : first_ + step_ * i;
  }
  bool has_fill() const { return has_fill_; }

  // Whether it shows a window of the image, perhaps reversed, and nothing else.
  bool plain() const { return !resized_ && table_ == nullptr; }

  void Flip();
  // The window may leave the axis on both sides; there it shows `fill`.
  absl::Status Crop(std::int64_t start, std::int64_t length, int fill,
                    Scratch& scratch);
  // `fill` is used by PadMode::kConstant.
  absl::Status Pad(std::int64_t before, std::int64_t after, PadMode mode,
                   int fill, Scratch& scratch);

  bool CanResize() const { return plain(); }
  void Resize(std::int64_t length, Filter filter);

 private:
  template <typename Source>
  absl::Status Remap(std::int64_t length, Scratch& scratch, Source source);

  std::int64_t window_first_ = 0;
  std::int64_t window_length_;
  bool window_reversed_ = false;
  bool resized_ = false;
  Filter filter_ = Filter::kBilinear;
  std::int64_t grid_length_;

  std::int64_t length_;
  std::int64_t first_ = 0;  // of the positions, if there is no table
  std::int64_t step_ = 1;   // 1 or -1
  std::int32_t* table_ = nullptr;
  bool has_fill_ = false;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_AXIS_VIEW_H_
