#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_TO_MONO_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_TO_MONO_H_

#include <cstdint>
#include <vector>

#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// Takes the mean of a clip's channels: (frames, channels) becomes (frames).
// Clips may differ in their number of channels. Threads, ownership, blocking
// and errors are as Op says.
class ToMono final : public Op {
 public:
  // Makes the op. `channels`, at least 1, is the number of channels of clips
  // whose Signal::each is 0.
  explicit ToMono(std::uint64_t channels) : channels_(channels) {}

  std::vector<std::uint64_t> frame_shape() const override { return {}; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override {
    return Signal{.frames = signal.frames, .rate = signal.rate};
  }
  bool in_place() const override { return true; }
  bool makes_parts() const override { return true; }
  absl::Status Run(const float* in, const Signal& signal,
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const std::uint64_t channels_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_TO_MONO_H_
