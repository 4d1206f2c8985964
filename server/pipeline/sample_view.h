#ifndef FOREBAY_SERVER_PIPELINE_SAMPLE_VIEW_H_
#define FOREBAY_SERVER_PIPELINE_SAMPLE_VIEW_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/program.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline {

// One sample on its way through the ops. It only records geometry. It renders
// pixels when an op needs them (color, or geometry that does not fold into one
// resize), and at the end.
// Not thread-safe. Borrows everything it is given. Does not block. Errors: the
// decoder's; RESOURCE_EXHAUSTED: that of `scratch`; INVALID_ARGUMENT: the image
// is smaller than a crop.
class SampleView {
 public:
  SampleView(const Program& program, const decode::ImageInfo& info,
             decode::ImageDecoder& decoder, transform::Scratch& scratch);

  // Applies program.ops[i].
  absl::Status Apply(std::size_t i, transform::Draws& draws);

  const transform::View& view() const { return view_; }
  absl::Status Render(transform::RowTarget& target);

 private:
  class DecoderSource final : public transform::PixelSource {
   public:
    explicit DecoderSource(decode::ImageDecoder& decoder) : decoder_(decoder) {}
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

  struct Step {
    int fill;  // number of the op's fill
    transform::Draws& draws;
  };

  absl::Status Do(const transform::Resize& op, Step step);
  absl::Status Do(const transform::CenterCrop& op, Step step);
  absl::Status Do(const transform::RandomCrop& op, Step step);
  absl::Status Do(const transform::RandomResizedCrop& op, Step step);
  absl::Status Do(const transform::RandomFlip& op, Step step);
  absl::Status Do(const transform::ColorJitter& op, Step step);
  absl::Status Do(const transform::Grayscale& op, Step step);
  absl::Status Do(const transform::Padding& op, Step step);

  absl::Status Crop(const transform::Window& window, int fill);
  absl::Status Resize(transform::Extent extent, transform::Filter filter);
  // Renders the image so far, and continues with that image.
  absl::Status Settle();

  transform::Extent extent() const {
    return {view_.x.length(), view_.y.length()};
  }
  transform::PixelSource& source();

  const Program& program_;
  transform::Scratch& scratch_;
  DecoderSource decoder_;
  bool resized_ = false;           // whether an op that resizes came already
  transform::ScratchImage image_;  // the last settled image
  std::optional<transform::ScratchImageSource> settled_;
  transform::View view_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_SAMPLE_VIEW_H_
