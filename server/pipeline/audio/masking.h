#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_MASKING_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_MASKING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

struct MaskOptions {
  bool of_times = true;    // of the first axis, else of the last one
  std::uint32_t most = 0;  // fewer than so many are masked, unless 0
  double part = 1;         // of the axis that may be masked
};

// Sets a random part of an axis to 0, with the draws of torchaudio's
// mask_along_axis.
class Masking final : public Op {
 public:
  // `frame_shape` is not empty.
  Masking(const MaskOptions& options, std::vector<std::uint64_t> frame_shape);

  std::vector<std::uint64_t> frame_shape() const override { return shape_; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override {
    return signal;
  }
  bool in_place() const override { return true; }
  bool is_random() const override { return true; }
  absl::Status Run(const float* in, const Signal& signal,
                   transform::Draws& draws, transform::Scratch& scratch,
                   float* out) const override;

 private:
  // Begin and end of what is masked of an axis of `length`.
  std::pair<std::uint64_t, std::uint64_t> PartOf(std::uint64_t length,
                                                 transform::Draws& draws) const;

  const MaskOptions options_;
  const std::vector<std::uint64_t> shape_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_MASKING_H_
