#ifndef FOREBAY_SERVER_PIPELINE_SAMPLE_VIEW_H_
#define FOREBAY_SERVER_PIPELINE_SAMPLE_VIEW_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/image/op_target.h"
#include "server/pipeline/image/program.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline {

// Takes one sample's image through the ops of a program. Geometry is only
// recorded, as a view of the image. Pixels are rendered where an op needs them
// (color, or geometry that does not fold into one resize), and at the end.
//
// Not thread-safe. Borrows all arguments of the constructor. Never blocks.
// Errors: those of the decoder; RESOURCE_EXHAUSTED: `scratch` has too little
// memory; INVALID_ARGUMENT: the image is smaller than a crop.
class SampleView final : public image::OpTarget {
 public:
  // Makes a view of the whole image that `decoder` has opened. `info` describes
  // that image.
  SampleView(const image::Program& program, const decode::ImageInfo& info,
             decode::ImageDecoder& decoder, transform::Scratch& scratch);

  // Applies program.ops[i]. The op takes its random numbers from `draws`.
  absl::Status Apply(std::size_t i, transform::Draws& draws);

  // Returns the view. It shows a part of the image that was rendered last;
  // before the first rendering, a part of the decoder's image.
  const transform::View& view() const { return view_; }
  // Renders the view, row by row, into `target`.
  absl::Status Render(transform::RowTarget& target);

 private:
  // Reads pixels from the decoder.
  class DecoderSource final : public transform::PixelSource {
   public:
    explicit DecoderSource(decode::ImageDecoder& decoder) : decoder_(decoder) {}
    // Allows or forbids decoding at a smaller scale.
    void set_may_reduce(bool may_reduce) { may_reduce_ = may_reduce; }
    decode::Reduction Reduce(std::uint32_t factor) override {
      return may_reduce_ ? decoder_.Reduce(factor) : decode::Reduction();
    }
    absl::Status Read(const decode::Region& region,
                      decode::RowSink& sink) override {
      return decoder_.Decode(region, sink);
    }

   private:
    decode::ImageDecoder& decoder_;
    bool may_reduce_ = false;
  };

  // The changes that ops make. The fill is that of the op that is being
  // applied.
  transform::ImageExtent extent() const override {
    return {view_.x.length(), view_.y.length()};
  }
  absl::Status Crop(const transform::CropWindow& window) override;
  absl::Status Pad(const transform::Padding& padding) override;
  // If the view is not a plain window, renders it first.
  absl::Status Resize(transform::ImageExtent extent,
                      transform::Filter filter) override;
  void Flip(bool horizontal) override;
  absl::Status ChangePixels(
      absl::FunctionRef<void(const transform::ScratchImage&)> change) override;

  // Renders the view into a new image. From then on, the view shows that image.
  absl::Status Settle();

  // Returns the last image that Settle rendered; before the first Settle, the
  // decoder.
  transform::PixelSource& source();

  const image::Program& program_;
  transform::Scratch& scratch_;
  DecoderSource decoder_;
  // Number of the fill of the op that is being applied.
  int fill_ = 0;
  // Whether an op that resizes has been applied.
  bool resized_ = false;
  // The image that Settle rendered last.
  transform::ScratchImage image_;
  // Reads `image_`; nullopt before the first Settle.
  std::optional<transform::ScratchImageSource> settled_;
  transform::View view_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_SAMPLE_VIEW_H_
