#include "server/pipeline/audio/volume_op.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "server/base/status.h"
#include "server/pipeline/audio/audio_ops.h"
#include "server/pipeline/audio/parameter.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

constexpr double kLn10 = 2.302585092994045684;

}  // namespace

VolumeOp::VolumeOp(float factor, std::vector<std::uint64_t> frame_shape)
    : factor_(factor), shape_(std::move(frame_shape)) {}

absl::Status VolumeOp::Run(const float* in, const Signal& signal,
                           const transform::Drawn& /*drawn*/,
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

// Every kind of gain becomes a factor for amplitudes.
OpOrRefusal Make(const proto::Vol& op, const Input& input) {
  double factor = op.gain();
  switch (op.gain_type()) {
    default:
      FOREBAY_RETURN_IF_ERROR(CheckParameter<double>(factor, 0, 1e6, "gain"));
      break;
    case proto::Vol::POWER:
      FOREBAY_RETURN_IF_ERROR(
          CheckParameter<double>(factor, 1e-12, 1e12, "gain"));
      factor = std::sqrt(factor);
      break;
    case proto::Vol::DB:
      FOREBAY_RETURN_IF_ERROR(
          CheckParameter<double>(factor, -240, 120, "gain"));
      // Ten to the power factor / 20, with the same bits on every CPU.
      factor = transform::ExactExp(factor / 20 * kLn10);
      break;
  }
  return std::make_unique<const VolumeOp>(static_cast<float>(factor),
                                          input.frame_shape);
}

}  // namespace forebay::pipeline::audio
