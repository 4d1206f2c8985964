#include "server/pipeline/audio/masking.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "server/pipeline/audio/audio_ops.h"

namespace forebay::pipeline::audio {
namespace {

// The choices of a Masking: the range of indices that is masked.
struct Mask {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Makes a mask of times or frequencies.
OpOrRefusal MakeMask(const MaskOptions& options, const Input& input) {
  if (input.frame_shape.empty()) {
    return absl::InvalidArgumentError(
        "takes spectrograms, not arrays of one axis");
  }
  return std::make_unique<const Masking>(options, input.frame_shape);
}

}  // namespace

Masking::Masking(const MaskOptions& options,
                 std::vector<std::uint64_t> frame_shape)
    : options_(options), shape_(std::move(frame_shape)) {}

transform::Drawn Masking::Draw(const Signal& signal,
                               transform::Draws& draws) const {
  const std::uint64_t length =
      options_.of_times ? signal.frames : shape_.back();
  std::uint64_t most = options_.most;
  if (options_.part < 1) {
    const double part = static_cast<double>(length) * options_.part;
    most = std::min(most, static_cast<std::uint64_t>(part));
  }
  if (most == 0) return transform::Drawn(Mask{});
  const float drawn = draws.Unit() * static_cast<float>(most);
  const float place = draws.Unit() * (static_cast<float>(length) - drawn);
  // If the drawn length exceeds the axis, `place` may be negative.
  const auto begin = static_cast<std::int64_t>(place);
  const std::int64_t end = begin + static_cast<std::int64_t>(drawn);
  const auto within = [length](std::int64_t at) {
    return static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(at, 0, static_cast<std::int64_t>(length)));
  };
  return transform::Drawn(Mask{within(begin), within(end)});
}

absl::Status Masking::Run(const float* in, const Signal& signal,
                          const transform::Drawn& drawn,
                          transform::Scratch& /*scratch*/, float* out) const {
  const std::uint64_t each =
      std::accumulate(shape_.begin(), shape_.end(), std::uint64_t{1},
                      std::multiplies<std::uint64_t>());
  if (in != out) std::copy(in, in + signal.frames * each, out);
  const auto [begin, end] = drawn.As<Mask>();
  if (options_.of_times) {
    std::fill(out + begin * each, out + end * each, 0.0F);
    return absl::OkStatus();
  }
  const std::uint64_t length = shape_.back();
  if (begin == end) return absl::OkStatus();
  float* const behind = out + signal.frames * each;
  for (float* row = out; row != behind; row += length)
    std::fill(row + begin, row + end, 0.0F);
  return absl::OkStatus();
}

OpOrRefusal Make(const proto::TimeMasking& op, const Input& input) {
  return MakeMask({.of_times = true,
                   .most = op.time_mask_param(),
                   .part = op.has_p() ? op.p() : 1},
                  input);
}

OpOrRefusal Make(const proto::FrequencyMasking& op, const Input& input) {
  return MakeMask({.of_times = false, .most = op.freq_mask_param(), .part = 1},
                  input);
}

}  // namespace forebay::pipeline::audio
