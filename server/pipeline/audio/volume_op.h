#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_VOLUME_OP_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_VOLUME_OP_H_

#include <cstdint>
#include <vector>

#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// Multiplies all elements by a factor, and clamps them to -1 and 1. Threads,
// ownership, blocking and errors are as Op says.
class VolumeOp final : public Op {
 public:
  VolumeOp(float factor, std::vector<std::uint64_t> frame_shape);

  std::vector<std::uint64_t> frame_shape() const override { return shape_; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override {
    return signal;
  }
  bool in_place() const override { return true; }
  bool makes_parts() const override { return true; }
  absl::Status Run(const float* in, const Signal& signal,
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const float factor_;
  const std::vector<std::uint64_t> shape_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_VOLUME_OP_H_
