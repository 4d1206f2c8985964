// Takes one image through a program's ops. Crops, flips, pads and one resize
// only change the view, so their cost does not depend on the pixels. A second
// resize, or an op on colors, needs pixels. The view is then rendered into
// scratch memory, and from there on shows the new image. Pixels are read from
// the decoder at most once.

#include "server/pipeline/sample_view.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/transform/color.h"
#include "server/pipeline/transform/geometry.h"

namespace forebay::pipeline {
namespace {

// Longest side of a resized image, in pixels. Tables hold positions in 32 bits.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;

// Whether a view shows exactly the `length` pixels of its axis, in order.
bool ShowsAll(const transform::AxisView& view, std::int64_t length) {
  return view.plain() && view.length() == length && view.At(0) == 0;
}

transform::Pixels PixelsOf(const transform::ScratchImage& image) {
  return {image.rgb, static_cast<std::size_t>(image.bytes())};
}

}  // namespace

SampleView::SampleView(const Program& program, const decode::ImageInfo& info,
                       decode::ImageDecoder& decoder,
                       transform::Scratch& scratch)
    : program_(program),
      scratch_(scratch),
      decoder_(decoder),
      view_{transform::AxisView(info.width), transform::AxisView(info.height)} {
}

absl::Status SampleView::Apply(std::size_t i, transform::Draws& draws) {
  const Step step{static_cast<int>(i), draws};
  return std::visit([&](const auto& op) { return Do(op, step); },
                    program_.ops[i].op);
}

absl::Status SampleView::Render(transform::RowTarget& target) {
  return transform::Render(view_, program_.colors, source(), scratch_, target);
}

absl::Status SampleView::Do(const transform::Resize& op, Step /*step*/) {
  return Resize(transform::ResizedExtent(op, extent()), op.filter);
}

absl::Status SampleView::Do(const transform::CenterCrop& op, Step step) {
  return Crop(transform::CenterWindow(op, extent()), step.fill);
}

absl::Status SampleView::Do(const transform::RandomCrop& op, Step step) {
  FOREBAY_ASSIGN_OR_RETURN(const auto drawn,
                           transform::DrawWindow(op, extent(), step.draws));
  // The padding comes first. The window's coordinates are those of the padded
  // image.
  FOREBAY_RETURN_IF_ERROR(Do(drawn.padding, step));
  return Crop(drawn.window, step.fill);
}

absl::Status SampleView::Do(const transform::RandomResizedCrop& op, Step step) {
  const auto window = transform::DrawWindow(op, extent(), step.draws);
  FOREBAY_RETURN_IF_ERROR(Crop(window, step.fill));
  return Resize({op.width, op.height}, op.filter);
}

absl::Status SampleView::Do(const transform::RandomFlip& op, Step step) {
  if (!transform::DrawFlip(op, step.draws)) return absl::OkStatus();
  (op.horizontal ? view_.x : view_.y).Flip();
  return absl::OkStatus();
}

absl::Status SampleView::Do(const transform::ColorJitter& op, Step step) {
  FOREBAY_RETURN_IF_ERROR(Settle());
  transform::Apply(transform::DrawJitter(op, step.draws), PixelsOf(image_));
  return absl::OkStatus();
}

absl::Status SampleView::Do(const transform::Grayscale& /*op*/, Step /*step*/) {
  FOREBAY_RETURN_IF_ERROR(Settle());
  transform::MakeGray(PixelsOf(image_));
  return absl::OkStatus();
}

absl::Status SampleView::Do(const transform::Padding& op, Step step) {
  FOREBAY_RETURN_IF_ERROR(
      view_.x.Pad(op.left, op.right, op.mode, step.fill, scratch_));
  return view_.y.Pad(op.top, op.bottom, op.mode, step.fill, scratch_);
}

absl::Status SampleView::Crop(const transform::CropWindow& window, int fill) {
  FOREBAY_RETURN_IF_ERROR(
      view_.x.Crop(window.left, window.width, fill, scratch_));
  return view_.y.Crop(window.top, window.height, fill, scratch_);
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
