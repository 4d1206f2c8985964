#include "server/pipeline/audio/decibels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

#include "server/pipeline/audio/audio_ops.h"

namespace forebay::pipeline::audio {
namespace {

constexpr float kLn2 = 0.693147180559945F;
constexpr float kInverseLn10 = 0.434294481903252F;
// Least value whose logarithm is taken: torchaudio's amin.
constexpr float kLeast = 1e-10F;

// Returns the natural logarithm of a normal number above 0. NaN and infinity
// stay as they are. The error is below 1e-7 or 3e-7 times the result, whichever
// is more. The code has no branches, so that compilers vectorise loops that
// call it.
inline float Log(float x) {
  // The exponent is chosen such that the mantissa m lies within 2/3 and 4/3.
  constexpr std::uint32_t kTwoThirds = 0x3F2AAAAB;
  constexpr std::uint32_t kMantissa = 0x007FFFFF;
  const std::uint32_t above = std::bit_cast<std::uint32_t>(x) - kTwoThirds;
  const auto exponent =
      static_cast<float>(static_cast<std::int32_t>(above) >> 23);
  const float m = std::bit_cast<float>((above & kMantissa) + kTwoThirds);
  // The series of log(m) = 2 artanh((m - 1) / (m + 1)).
  const float s = (m - 1) / (m + 1);
  const float square = s * s;
  const float sum =
      1 + square * (1.0F / 3 +
                    square * (1.0F / 5 + square * (1.0F / 7 + square / 9)));
  const float log = exponent * kLn2 + 2 * s * sum;
  return x <= std::numeric_limits<float>::max() ? log : x;
}

// Applies `function` to each number. Numbers go through a buffer in blocks:
// since `out` may be `in`, compilers would not vectorise a direct loop.
template <typename Function>
void EachBlock(const float* in, std::uint64_t count, float* out,
               const Function& function) {
  constexpr std::uint64_t kBlock = 256;
  std::array<float, kBlock> block;
  for (std::uint64_t done = 0; done < count; done += kBlock) {
    const std::uint64_t some = std::min(kBlock, count - done);
    std::copy(in + done, in + done + some, block.begin());
    for (std::uint64_t i = 0; i < some; ++i) block[i] = function(block[i]);
    std::copy(block.begin(), block.begin() + some, out + done);
  }
}

}  // namespace

void ToDecibels(const DecibelOptions& options, const float* in,
                std::uint64_t count, float* out) {
  const float factor = (options.magnitudes ? 20.0F : 10.0F) * kInverseLn10;
  EachBlock(in, count, out, [factor](float value) {
    return factor * Log(value < kLeast ? kLeast : value);
  });
  if (!options.top_db.has_value()) return;
  float greatest = -std::numeric_limits<float>::infinity();
  for (std::uint64_t i = 0; i < count; ++i)
    greatest = out[i] > greatest ? out[i] : greatest;
  const float least = greatest - *options.top_db;
  for (std::uint64_t i = 0; i < count; ++i)
    out[i] = out[i] < least ? least : out[i];
}

void ToLogs(const float* in, std::uint64_t count, float* out) {
  EachBlock(in, count, out, [](float value) { return Log(value + 1e-6F); });
}

AmplitudeToDb::AmplitudeToDb(const DecibelOptions& options,
                             std::vector<std::uint64_t> frame_shape)
    : options_(options), shape_(std::move(frame_shape)) {}

absl::Status AmplitudeToDb::Run(const float* in, const Signal& signal,
                                const transform::Drawn& /*drawn*/,
                                transform::Scratch& /*scratch*/,
                                float* out) const {
  const std::uint64_t count =
      std::accumulate(shape_.begin(), shape_.end(), signal.frames,
                      std::multiplies<std::uint64_t>());
  ToDecibels(options_, in, count, out);
  return absl::OkStatus();
}

OpOrRefusal Make(const proto::AmplitudeToDB& op, const Input& input) {
  DecibelOptions options{.magnitudes =
                             op.stype() == proto::AmplitudeToDB::MAGNITUDE};
  if (op.has_top_db()) options.top_db = static_cast<float>(op.top_db());
  return std::make_unique<const AmplitudeToDb>(options, input.frame_shape);
}

}  // namespace forebay::pipeline::audio
