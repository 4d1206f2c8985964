#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_MASKING_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_MASKING_H_

#include <cstdint>
#include <vector>

#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// The parameters of a mask.
struct MaskOptions {
  // Whether the mask covers times, which are the first axis. If not, it covers
  // frequencies, the last axis.
  bool of_times = true;
  // The mask has fewer elements than this along its axis; 0 masks nothing.
  std::uint32_t most = 0;
  // Largest part of the axis that may be masked, 0 to 1.
  double part = 1;
};

// Sets a random part of an axis to 0. The draws are those of torchaudio's
// mask_along_axis. Threads, ownership, blocking and errors are as Op says.
class Masking final : public Op {
 public:
  // Makes the op for arrays of at least two axes: `frame_shape` is not empty.
  Masking(const MaskOptions& options, std::vector<std::uint64_t> frame_shape);

  std::vector<std::uint64_t> frame_shape() const override { return shape_; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override {
    return signal;
  }
  bool in_place() const override { return true; }
  transform::Drawn Draw(const Signal& signal,
                        transform::Draws& draws) const override;
  absl::Status Run(const float* in, const Signal& signal,
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const MaskOptions options_;
  const std::vector<std::uint64_t> shape_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_MASKING_H_
