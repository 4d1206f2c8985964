#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_RENDER_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_RENDER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/transform/axis_view.h"
#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::transform {

// A source of pixels. Reduce and Read, once each, do what Reduce and Decode of
// a decode::ImageDecoder do, with its errors.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  virtual decode::Reduction Reduce(std::uint32_t factor) {
    static_cast<void>(factor);
    return {};
  }
  virtual absl::Status Read(const decode::Region& region,
                            decode::RowSink& sink) = 0;
};

// Takes finished rows: every row once, top to bottom. It may change the planes,
// which are gone after the call.
class RowTarget {
 public:
  virtual ~RowTarget() = default;
  virtual void Row(std::int64_t y, std::uint8_t* const (&planes)[kColors]) = 0;
};

using Color = std::array<std::uint8_t, kColors>;

// The view of an image that both axes give.
struct View {
  AxisView x;
  AxisView y;
};

// Returns the number of the fill that (x, y) shows, or -1.
inline std::int64_t FillAt(const View& view, std::int64_t x, std::int64_t y) {
  const std::int64_t at_x = view.x.At(x);
  const std::int64_t at_y = view.y.At(y);
  const std::int64_t fill_x = at_x < 0 ? -1 - at_x : -1;
  const std::int64_t fill_y = at_y < 0 ? -1 - at_y : -1;
  return fill_x > fill_y ? fill_x : fill_y;
}

// Renders `view`. Reads the region that it needs, passes it strip by strip
// through the horizontal pass into an intermediate image, and from there row by
// row through the vertical pass into `target`. `fills` are the colors of the
// view's fills by number. Both passes are Pillow's, to the bit. A source that
// can reduce the image is asked to, where the view makes it smaller by more, by
// an antialiased filter. Blocks as its source. Errors: the source's;
// RESOURCE_EXHAUSTED: that of `scratch`.
absl::Status Render(const View& view, absl::Span<const Color> fills,
                    PixelSource& source, Scratch& scratch, RowTarget& target);

// An image in scratch memory: interleaved RGB without gaps between rows.
struct ScratchImage {
  std::uint8_t* rgb = nullptr;
  std::int64_t width = 0;
  std::int64_t height = 0;

  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(width) *
           static_cast<std::uint64_t>(height) * kColors;
  }
};

// Renders into a new image of `scratch`; straight, if the view is a plain
// window.
absl::StatusOr<ScratchImage> RenderImage(const View& view,
                                         absl::Span<const Color> fills,
                                         PixelSource& source, Scratch& scratch);

// Reads a ScratchImage, which must outlive it.
class ScratchImageSource final : public PixelSource {
 public:
  explicit ScratchImageSource(const ScratchImage& image) : image_(image) {}
  absl::Status Read(const decode::Region& region,
                    decode::RowSink& sink) override;

 private:
  ScratchImage image_;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_RENDER_H_
