// Takes one image through a program's ops. Crops, flips, pads and one resize
// only change the view, so their cost does not depend on the pixels. A second
// resize, or an op on colors, needs pixels. The view is then rendered into
// scratch memory, and from there on shows the new image. Pixels are read from
// the decoder at most once.

#include "server/pipeline/sample_view.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::pipeline {
namespace {

// Longest side of a resized image, in pixels. Tables hold positions in 32 bits.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;

// Whether a view shows exactly the `length` pixels of its axis, in order.
bool ShowsAll(const transform::AxisView& view, std::int64_t length) {
  return view.plain() && view.length() == length && view.At(0) == 0;
}

}  // namespace

SampleView::SampleView(const image::Program& program,
                       const decode::ImageInfo& info,
                       decode::ImageDecoder& decoder,
                       transform::Scratch& scratch)
    : program_(program),
      scratch_(scratch),
      decoder_(decoder),
      view_{transform::AxisView(info.width), transform::AxisView(info.height)} {
}

absl::Status SampleView::Apply(std::size_t i, transform::Draws& draws) {
  const image::ImageOp& op = *program_.ops[i].op;
  fill_ = static_cast<int>(i);
  FOREBAY_ASSIGN_OR_RETURN(const transform::Drawn drawn,
                           op.Draw(extent(), draws));
  return op.Apply(drawn, *this);
}

absl::Status SampleView::Render(transform::RowTarget& target) {
  return transform::Render(view_, program_.colors, source(), scratch_, target);
}

absl::Status SampleView::Crop(const transform::CropWindow& window) {
  FOREBAY_RETURN_IF_ERROR(
      view_.x.Crop(window.left, window.width, fill_, scratch_));
  return view_.y.Crop(window.top, window.height, fill_, scratch_);
}

absl::Status SampleView::Pad(const transform::Padding& padding) {
  FOREBAY_RETURN_IF_ERROR(
      view_.x.Pad(padding.left, padding.right, padding.mode, fill_, scratch_));
  return view_.y.Pad(padding.top, padding.bottom, padding.mode, fill_,
                     scratch_);
}

void SampleView::Flip(bool horizontal) {
  (horizontal ? view_.x : view_.y).Flip();
}

absl::Status SampleView::ChangePixels(
    absl::FunctionRef<void(const transform::ScratchImage&)> change) {
  FOREBAY_RETURN_IF_ERROR(Settle());
  change(image_);
  return absl::OkStatus();
}

absl::Status SampleView::Resize(transform::ImageExtent extent,
                                transform::Filter filter) {
  if (extent.width > kMaxLength || extent.height > kMaxLength) {
    return absl::ResourceExhaustedError(
        absl::StrCat("resizing would make an image of ", extent.width, " x ",
                     extent.height, " pixels"));
  }
  if (!view_.x.CanResize() || !view_.y.CanResize())
    FOREBAY_RETURN_IF_ERROR(Settle());
  // The image may be decoded at a smaller scale for the first resize only. A
  // later resize may start from a variant, which cannot be reduced; without the
  // variant it must give the same pixels. A resize counts even if it leaves the
  // size unchanged.
  decoder_.set_may_reduce(program_.scaled && !resized_);
  resized_ = true;
  view_.x.Resize(extent.width, filter);
  view_.y.Resize(extent.height, filter);
  return absl::OkStatus();
}

absl::Status SampleView::Settle() {
  if (settled_.has_value() && ShowsAll(view_.x, image_.width) &&
      ShowsAll(view_.y, image_.height)) {
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(
      image_,
      transform::RenderImage(view_, program_.colors, source(), scratch_));
  settled_.emplace(image_);
  view_ = {transform::AxisView(image_.width),
           transform::AxisView(image_.height)};
  return absl::OkStatus();
}

transform::PixelSource& SampleView::source() {
  if (settled_.has_value()) return *settled_;
  return decoder_;
}

}  // namespace forebay::pipeline
