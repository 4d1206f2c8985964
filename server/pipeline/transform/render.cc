// Renders a view in two passes, as Pillow's Resample.c does: first along rows,
// then along columns. The intermediate image holds, for each row of the source
// that the view needs, three planes of the output's width. The horizontal pass
// runs on each strip of rows while the decoder's output is still in the CPU's
// caches. The vertical pass then makes one output row at a time, which the
// target converts at once.

#include "server/pipeline/transform/render.h"

#include <algorithm>

#include "server/base/status.h"
#include "server/pipeline/decode/region_copy.h"
#include "server/pipeline/transform/convert.h"
#include "server/pipeline/transform/horizontal.h"
#include "server/pipeline/transform/taps.h"
#include "server/pipeline/transform/vertical.h"

namespace forebay::pipeline::transform {
namespace {

// A sink that takes strips of the source's rows through the horizontal pass.
class HorizontalPass final : public decode::RowSink {
 public:
  HorizontalPass(const Taps& taps, std::uint8_t* work, std::uint8_t* out)
      : row_bytes_(kColors * PlanePitch(static_cast<std::size_t>(taps.length))),
        plan_(PlanRows(taps, work)),
        out_(out) {}

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override {
    ResampleRows(plan_, rgb, stride_bytes, count,
                 out_ + first_row * row_bytes_);
  }

 private:
  const std::size_t row_bytes_;
  const RowPlan plan_;
  std::uint8_t* const out_;
};

// Overwrites the pixels of row `y` that show a fill.
void PaintFills(const View& view, absl::Span<const Color> fills, std::int64_t y,
                std::uint8_t* const (&planes)[kColors]) {
  for (std::int64_t x = 0; x < view.x.length(); ++x) {
    const std::int64_t fill = FillAt(view, x, y);
    if (fill < 0) continue;
    const Color& color = fills[static_cast<std::size_t>(fill)];
    for (int c = 0; c < kColors; ++c) planes[c][x] = color[c];
  }
}

// A target that interleaves rows into a ScratchImage.
class ImageTarget final : public RowTarget {
 public:
  explicit ImageTarget(const ScratchImage& image) : image_(image) {}

  void Row(std::int64_t y, std::uint8_t* const (&planes)[kColors]) override {
    const std::uint8_t* rows[kColors] = {planes[0], planes[1], planes[2]};
    InterleaveRows(rows, static_cast<std::size_t>(image_.width), 1,
                   image_.rgb + y * image_.width * kColors);
  }

 private:
  const ScratchImage image_;
};

// Returns the first pixel of the image that a plain view shows.
std::uint32_t FirstShown(const AxisView& view) {
  return static_cast<std::uint32_t>(
      std::min(view.At(0), view.At(view.length() - 1)));
}

// Whether a plain view shows its pixels in descending order.
bool IsReversed(const AxisView& view) {
  return view.At(0) > view.At(view.length() - 1);
}

// Copies the window that a plain view shows. Mirrors it along reversed axes.
absl::Status CopyWindow(const View& view, PixelSource& source,
                        const ScratchImage& image) {
  const decode::Region region = {FirstShown(view.x), FirstShown(view.y),
                                 static_cast<std::uint32_t>(image.width),
                                 static_cast<std::uint32_t>(image.height)};
  decode::RegionCopy copy(
      region, image.rgb,
      {.left_right = IsReversed(view.x), .top_bottom = IsReversed(view.y)});
  return source.Read(region, copy);
}

// Whether a view makes its window smaller by a factor of at least `factor`,
// with a filter that covers all pixels of the window.
bool Shrinks(const AxisView& view, std::int64_t factor) {
  return view.resized() &&
         (view.filter() == Filter::kBilinear ||
          view.filter() == Filter::kBicubic) &&
         view.window_length() / factor >= view.grid_length();
}

// Asks the source to reduce the image by the largest factor that both axes
// allow.
decode::Reduction Reduce(const View& view, PixelSource& source) {
  for (const std::uint32_t factor : {8, 4, 2}) {
    if (Shrinks(view.x, factor) && Shrinks(view.y, factor))
      return source.Reduce(factor);
  }
  return {};
}

}  // namespace

absl::Status Render(const View& view, absl::Span<const Color> fills,
                    PixelSource& source, Scratch& scratch, RowTarget& target) {
  const decode::Reduction scale = Reduce(view, source);
  FOREBAY_ASSIGN_OR_RETURN(
      const Taps across, MakeTaps(view.x, scratch, {scale.factor, scale.left}));
  FOREBAY_ASSIGN_OR_RETURN(
      const Taps down, MakeTaps(view.y, scratch, {scale.factor, scale.top}));
  const auto width = static_cast<std::size_t>(across.length);
  const std::size_t pitch = PlanePitch(width);
  const std::size_t row_bytes = kColors * pitch;
  const auto rows = static_cast<std::uint64_t>(down.end - down.first);
  FOREBAY_ASSIGN_OR_RETURN(
      std::uint8_t * work,
      scratch.Allocate<std::uint8_t>(HorizontalWorkBytes(width), "resizing"));
  FOREBAY_ASSIGN_OR_RETURN(
      std::uint8_t * middle,
      scratch.Allocate<std::uint8_t>(rows * row_bytes, "the resized rows"));
  FOREBAY_ASSIGN_OR_RETURN(std::uint8_t * row, scratch.Allocate<std::uint8_t>(
                                                   row_bytes, "resizing"));
  HorizontalPass pass(across, work, middle);
  FOREBAY_RETURN_IF_ERROR(
      source.Read({static_cast<std::uint32_t>(across.first),
                   static_cast<std::uint32_t>(down.first),
                   static_cast<std::uint32_t>(across.end - across.first),
                   static_cast<std::uint32_t>(rows)},
                  pass));
  std::uint8_t* const planes[kColors] = {row, row + pitch, row + 2 * pitch};
  const bool fill = view.x.has_fill() || view.y.has_fill();
  for (std::int64_t y = 0; y < down.length; ++y) {
    ResampleColumns(middle, row_bytes, down, y, width, row);
    if (fill) PaintFills(view, fills, y, planes);
    target.Row(y, planes);
  }
  return absl::OkStatus();
}

absl::StatusOr<ScratchImage> RenderImage(const View& view,
                                         absl::Span<const Color> fills,
                                         PixelSource& source,
                                         Scratch& scratch) {
  ScratchImage image{nullptr, view.x.length(), view.y.length()};
  FOREBAY_ASSIGN_OR_RETURN(
      image.rgb,
      scratch.Allocate<std::uint8_t>(image.bytes(), "an image between ops"));
  if (view.x.plain() && view.y.plain()) {
    FOREBAY_RETURN_IF_ERROR(CopyWindow(view, source, image));
    return image;
  }
  ImageTarget target(image);
  FOREBAY_RETURN_IF_ERROR(Render(view, fills, source, scratch, target));
  return image;
}

absl::Status ScratchImageSource::Read(const decode::Region& region,
                                      decode::RowSink& sink) {
  const auto stride = static_cast<std::size_t>(image_.width) * kColors;
  sink.Rows(
      0, region.height,
      image_.rgb + region.top * stride + std::size_t{region.left} * kColors,
      stride);
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::transform
