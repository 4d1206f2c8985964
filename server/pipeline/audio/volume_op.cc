#include "server/pipeline/audio/volume_op.h"

#include <functional>
#include <numeric>
#include <utility>

namespace forebay::pipeline::audio {

VolumeOp::VolumeOp(float factor, std::vector<std::uint64_t> frame_shape)
    : factor_(factor), shape_(std::move(frame_shape)) {}

absl::Status VolumeOp::Run(const float* in, const Signal& signal,
                           transform::Draws& /*draws*/,
                           transform::Scratch& /*scratch*/, float* out) const {
  const std::uint64_t count =
      std::accumulate(shape_.begin(), shape_.end(), signal.frames,
                      std::multiplies<std::uint64_t>());
  for (std::uint64_t i = 0; i < count; ++i) {
    const float value = in[i] * factor_;
    // NaN stays NaN: it fails both comparisons.
    const float above = value < -1 ? -1 : value;
    out[i] = above > 1 ? 1 : above;
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::audio
