#include "server/pipeline/audio/to_mono.h"

#include "server/base/status.h"
#include "server/pipeline/audio/audio_ops.h"

namespace forebay::pipeline::audio {

absl::Status ToMono::Run(const float* in, const Signal& signal,
                         const transform::Drawn& /*drawn*/,
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

OpOrRefusal Make(const proto::ToMono& /*op*/, const Input& input) {
  FOREBAY_RETURN_IF_ERROR(CheckClip(input));
  return std::make_unique<const ToMono>(
      input.frame_shape.empty() ? 1 : input.frame_shape.front());
}

}  // namespace forebay::pipeline::audio
