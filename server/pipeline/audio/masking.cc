#include "server/pipeline/audio/masking.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace forebay::pipeline::audio {

Masking::Masking(const MaskOptions& options,
                 std::vector<std::uint64_t> frame_shape)
    : options_(options), shape_(std::move(frame_shape)) {}

std::pair<std::uint64_t, std::uint64_t> Masking::PartOf(
    std::uint64_t length, transform::Draws& draws) const {
  std::uint64_t most = options_.most;
  if (options_.part < 1) {
    const double part = static_cast<double>(length) * options_.part;
    most = std::min(most, static_cast<std::uint64_t>(part));
  }
  if (most == 0) return {0, 0};
  const float drawn = draws.Unit() * static_cast<float>(most);
  const float place = draws.Unit() * (static_cast<float>(length) - drawn);
  // If the drawn length exceeds the axis, `place` may be negative.
  const auto begin = static_cast<std::int64_t>(place);
  const std::int64_t end = begin + static_cast<std::int64_t>(drawn);
  const auto within = [length](std::int64_t at) {
    return std::clamp<std::int64_t>(at, 0, static_cast<std::int64_t>(length));
  };
  return {within(begin), within(end)};
}

absl::Status Masking::Run(const float* in, const Signal& signal,
                          transform::Draws& draws,
                          transform::Scratch& /*scratch*/, float* out) const {
  const std::uint64_t each =
      std::accumulate(shape_.begin(), shape_.end(), std::uint64_t{1},
                      std::multiplies<std::uint64_t>());
  if (in != out) std::copy(in, in + signal.frames * each, out);
  if (options_.of_times) {
    const auto [begin, end] = PartOf(signal.frames, draws);
    std::fill(out + begin * each, out + end * each, 0.0F);
    return absl::OkStatus();
  }
  const std::uint64_t length = shape_.back();
  const auto [begin, end] = PartOf(length, draws);
  if (begin == end) return absl::OkStatus();
  float* const behind = out + signal.frames * each;
  for (float* row = out; row != behind; row += length)
    std::fill(row + begin, row + end, 0.0F);
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::audio
