#include "server/pipeline/audio/to_mono.h"

namespace forebay::pipeline::audio {

absl::Status ToMono::Run(const float* in, const Signal& signal,
                         transform::Draws& /*draws*/,
                         transform::Scratch& /*scratch*/, float* out) const {
  const std::uint64_t channels = signal.each == 0 ? channels_ : signal.each;
  const auto divisor = static_cast<float>(channels);
  for (std::uint64_t i = 0; i < signal.frames; ++i) {
    float sum = 0;
    for (std::uint64_t c = 0; c < channels; ++c) sum += in[i * channels + c];
    out[i] = sum / divisor;
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::audio
