#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_AXIS_VIEW_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_AXIS_VIEW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/pipeline/transform/filter.h"
#include "server/pipeline/transform/padding.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::transform {

// The view of one axis of an image after crops, flips, pads and at most one
// resize. No pixel is computed yet. The view says which pixel of a *grid* each
// position shows. The grid is the image's axis or, after a resize, the resized
// window of that axis. A position that shows no pixel shows a fill, which has a
// number. If the x axis and the y axis show different fills for a pixel, the
// higher number wins.
//
// Not thread-safe. Its tables lie in a Scratch, and are valid until the Scratch
// is reset. Never blocks. Fails with RESOURCE_EXHAUSTED if the Scratch has too
// little memory.
class AxisView {
 public:
  // Shows the whole axis of an image.
  explicit AxisView(std::int64_t image_length)
      : window_length_(image_length),
        grid_length_(image_length),
        length_(image_length) {}

  // Returns the number of positions.
  std::int64_t length() const { return length_; }
  bool resized() const { return resized_; }
  Filter filter() const { return filter_; }

  // The four functions below describe the window of the image that is resized,
  // and the number of pixels to which it is resized.
  std::int64_t window_first() const { return window_first_; }
  std::int64_t window_length() const { return window_length_; }
  bool window_reversed() const { return window_reversed_; }
  std::int64_t grid_length() const { return grid_length_; }

  // Returns the grid pixel that position `i` shows. If it shows fill number f,
  // returns -1 - f.
  std::int64_t At(std::int64_t i) const {
    return table_ != nullptr ? table_[i] : first_ + step_ * i;
  }
  // Whether any position shows a fill.
  bool has_fill() const { return has_fill_; }

  // Whether the view just shows a window of the image, in ascending or
  // descending order.
  bool plain() const { return !resized_ && table_ == nullptr; }

  // Reverses the order of positions.
  void Flip();
  // Keeps `length` positions from `start` on. Positions beyond either end of
  // the axis show `fill`.
  absl::Status Crop(std::int64_t start, std::int64_t length, int fill,
                    Scratch& scratch);
  // Adds `before` and `after` positions at the two ends. `mode` says which
  // pixels they show; with PadMode::kConstant, they show `fill`.
  absl::Status Pad(std::int64_t before, std::int64_t after, PadMode mode,
                   int fill, Scratch& scratch);

  // Whether Resize may be called. A view has at most one resize, which must
  // come before all pads.
  bool CanResize() const { return plain(); }
  // Resizes the window that is shown to `length` pixels.
  void Resize(std::int64_t length, Filter filter);

 private:
  // Makes a new table of `length` positions, in which position i shows
  // source(i).
  template <typename Source>
  absl::Status Remap(std::int64_t length, Scratch& scratch, Source source);

  std::int64_t window_first_ = 0;
  std::int64_t window_length_;
  bool window_reversed_ = false;
  bool resized_ = false;
  Filter filter_ = Filter::kBilinear;
  std::int64_t grid_length_;

  std::int64_t length_;
  // Grid pixel that position 0 shows, if there is no table.
  std::int64_t first_ = 0;
  // Difference between the grid pixels of neighbouring positions, 1 or -1, if
  // there is no table.
  std::int64_t step_ = 1;
  // At's result for each position; null if `first_` and `step_` give the
  // results.
  std::int32_t* table_ = nullptr;
  bool has_fill_ = false;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_AXIS_VIEW_H_
