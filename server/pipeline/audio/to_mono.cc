#include "server/pipeline/audio/to_mono.h"

namespace forebay::pipeline::audio {

absl::Status ToMono::Run(const float* in, const Signal& signal,
                         transform::Draws& /*draws*/,
                         transform::Scratch& /*scratch*/, float* out) const {
  const auto divisor = static_cast<float>(channels_);
  for (std::uint64_t i = 0; i < signal.frames; ++i) {
    float sum = 0;
    for (std::uint64_t c = 0; c < channels_; ++c) sum += in[i * channels_ + c];
    out[i] = sum / divisor;
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::audio
