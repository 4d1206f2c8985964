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

// A source of an image's pixels. Callers may call Reduce once, and then Read
// once. Reduce and Read do what decode::ImageDecoder's Reduce and Decode do,
// and return the same errors. Not thread-safe. May take as long as decoding.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  // Asks for the image at a smaller scale; returns the scale that Read will
  // give.
  virtual decode::Reduction Reduce(std::uint32_t factor) {
    static_cast<void>(factor);
    return {};
  }
  // Gives a region of the image to `sink`.
  virtual absl::Status Read(const decode::Region& region,
                            decode::RowSink& sink) = 0;
};

// Takes the finished rows of an image: each row once, from top to bottom. Row
// may change the planes, which are valid during the call only. Not thread-safe;
// no errors.
class RowTarget {
 public:
  virtual ~RowTarget() = default;
  // Takes row `y`, as a plane of bytes for each color.
  virtual void Row(std::int64_t y, std::uint8_t* const (&planes)[kColors]) = 0;
};

// An RGB color.
using Color = std::array<std::uint8_t, kColors>;

// The part of an image that is shown, as the views of both axes.
struct View {
  AxisView x;
  AxisView y;
};

// Returns the number of the fill that position (x, y) shows, or -1 if it shows
// a pixel.
inline std::int64_t FillAt(const View& view, std::int64_t x, std::int64_t y) {
  const std::int64_t at_x = view.x.At(x);
  const std::int64_t at_y = view.y.At(y);
  const std::int64_t fill_x = at_x < 0 ? -1 - at_x : -1;
  const std::int64_t fill_y = at_y < 0 ? -1 - at_y : -1;
  return fill_x > fill_y ? fill_x : fill_y;
}

// Renders `view` into `target`. `fills` are the colors of the view's fills, by
// number. Reads the region that the view needs. The region's rows go, strip by
// strip, through the horizontal pass into an intermediate image. The vertical
// pass makes the output's rows from the intermediate image.
//
// Both passes give Pillow's bits. If an antialiased filter makes both axes
// smaller by a factor of at least 2, the source is asked to reduce the image
// first. Blocks as `source` does. Errors: those of `source`;
// RESOURCE_EXHAUSTED: `scratch` has too little memory.
absl::Status Render(const View& view, absl::Span<const Color> fills,
                    PixelSource& source, Scratch& scratch, RowTarget& target);

// An image in scratch memory: interleaved RGB without gaps between rows.
struct ScratchImage {
  std::uint8_t* rgb = nullptr;
  std::int64_t width = 0;
  std::int64_t height = 0;

  absl::Span<std::uint8_t> pixels() const {
    return {rgb, static_cast<std::size_t>(bytes())};
  }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(width) *
           static_cast<std::uint64_t>(height) * kColors;
  }
};

// Renders `view` into a new image of `scratch`. A view that is a plain window
// of the image is copied without the two passes.
absl::StatusOr<ScratchImage> RenderImage(const View& view,
                                         absl::Span<const Color> fills,
                                         PixelSource& source, Scratch& scratch);

// Reads pixels of a ScratchImage, which must outlive it.
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
