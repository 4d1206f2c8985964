// Resamples by windowed sinc filters. `orig_` and `next_` are the two rates,
// divided by their greatest common divisor. If time is counted in old frames,
// new frame j * next_ + i lies at j * orig_ + i * orig_ / next_. This new frame
// is the sum of the old frames around that time, each multiplied by the
// filter's value at the old frame's distance. There are therefore `next_`
// filters, one for each i. From one use of a filter to its next use, it
// advances by `orig_` old frames. Places count old frames from `width_` frames
// before the clip on, so that no place is negative.

#include "server/pipeline/audio/resample_kernel.h"

#include <array>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

using transform::ExactCosPi;
using transform::ExactSinPi;

constexpr double kPi = 3.14159265358979323846;
// The most elements of all filters: 4 MiB.
constexpr double kMaxElements = 1 << 20;
// The most products in all sums of a clip. So many products take about a
// minute, in which the thread does nothing else.
constexpr std::uint64_t kMaxProducts = std::uint64_t{1} << 38;
// Number of partial sums. The order of additions is fixed, so sums are the same
// on every CPU, whatever vector instructions the compiler chooses.
constexpr std::size_t kLanes = 8;

// Returns the modified Bessel function of order 0; |x| is at most 100.
double BesselI0(double x) {
  const double quarter = x * x / 4;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 300 && term > sum * 1e-18; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

// Returns the window's value at `t` zero crossings from its middle.
double WindowAt(const ResampleOptions& options, double t) {
  const double part = t / options.lowpass_filter_width;
  if (options.kaiser) {
    return BesselI0(options.beta * std::sqrt(1 - part * part)) /
           BesselI0(options.beta);
  }
  const double cosine = ExactCosPi(part / 2);
  return cosine * cosine;
}

// Returns the scalar product of `count` numbers, a multiple of kLanes.
float Dot(const float* a, const float* b, std::size_t count) {
  std::array<float, kLanes> sums{};
  for (std::size_t i = 0; i < count; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return sums[0];
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ResampleKernel>> ResampleKernel::Create(
    std::uint32_t orig_freq, std::uint32_t new_freq,
    const ResampleOptions& options) {
  const std::uint32_t divisor = std::gcd(orig_freq, new_freq);
  std::unique_ptr<ResampleKernel> kernel(
      new ResampleKernel(orig_freq / divisor, new_freq / divisor));
  const auto orig = static_cast<double>(kernel->orig_);
  const auto next = static_cast<double>(kernel->next_);
  const double base = std::fmin(orig, next) * options.rolloff;
  // How many old frames a filter covers on each side of its middle.
  const double reach = options.lowpass_filter_width * orig / base;
  const double taps = 2 * reach + 2 + kLanes;
  if (!(taps * next <= kMaxElements)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "from ", orig_freq, " to ", new_freq,
        " Hz needs too large a table: take rates with a greater common "
        "divisor, a smaller lowpass_filter_width or a greater rolloff"));
  }
  kernel->Fill(options, base, reach);
  return kernel;
}

void ResampleKernel::Fill(const ResampleOptions& options, double base,
                          double reach) {
  const auto orig = static_cast<double>(orig_);
  const auto next = static_cast<double>(next_);
  width_ = static_cast<std::uint64_t>(std::ceil(reach));
  const auto span = static_cast<std::size_t>(2 * reach) + 2;
  taps_ = (span + kLanes - 1) / kLanes * kLanes;
  first_.resize(next_);
  weights_.resize(next_ * taps_);
  const auto crossings = static_cast<double>(options.lowpass_filter_width);
  for (std::uint64_t i = 0; i < next_; ++i) {
    const double middle =
        static_cast<double>(width_) + static_cast<double>(i) * orig / next;
    const double first = std::floor(middle - reach);
    first_[i] = first > 0 ? static_cast<std::uint64_t>(first) : 0;
    // torchaudio computes the shift in float32.
    const auto shift =
        static_cast<double>(static_cast<float>(i) / static_cast<float>(next_));
    for (std::size_t k = 0; k < taps_; ++k) {
      const double place =
          static_cast<double>(first_[i] + k) - static_cast<double>(width_);
      const double t = (place / orig - shift) * base;
      if (!(std::fabs(t) < crossings)) continue;
      const double sinc = t == 0 ? 1 : ExactSinPi(t) / (kPi * t);
      weights_[i * taps_ + k] =
          static_cast<float>(sinc * WindowAt(options, t) * (base / orig));
    }
  }
}

absl::StatusOr<std::uint64_t> ResampleKernel::FramesOf(
    std::uint64_t frames) const {
  std::uint64_t scaled = 0;
  if (__builtin_mul_overflow(frames, next_, &scaled) ||
      scaled / orig_ >= kMaxFrames)
    return absl::InvalidArgumentError("is too long");
  return scaled / orig_ + (scaled % orig_ != 0 ? 1 : 0);
}

absl::Status ResampleKernel::CheckWork(std::uint64_t frames,
                                       std::uint64_t channels) const {
  if (frames <= kMaxProducts / taps_ / channels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("becomes ", frames, " frames of ", channels,
                   " channels, each a sum of ", taps_,
                   " elements: take a smaller lowpass_filter_width, a greater "
                   "rolloff, or a part of the clip"));
}

ResampleKernel::Room ResampleKernel::RoomFor(const FrameRange& part) const {
  const std::uint64_t first = FirstOf(part.begin);
  const std::uint64_t last = FirstOf(part.begin + part.length - 1);
  return {.begin = static_cast<std::int64_t>(first) -
                   static_cast<std::int64_t>(width_),
          .length = last - first + taps_};
}

void ResampleKernel::Run(const float* room, const FrameRange& part, float* out,
                         std::size_t stride) const {
  std::uint64_t filter = part.begin % next_;
  // Offset in `room` of place 0 of the current round of filters. In the first
  // round the offset may be negative, since `room` begins with the first place
  // of the first filter that is used.
  std::int64_t round = -static_cast<std::int64_t>(first_[filter]);
  for (std::uint64_t n = 0; n < part.length; ++n) {
    const auto place = round + static_cast<std::int64_t>(first_[filter]);
    out[n * stride] =
        Dot(weights_.data() + filter * taps_, room + place, taps_);
    if (++filter == next_) {
      filter = 0;
      round += static_cast<std::int64_t>(orig_);
    }
  }
}

}  // namespace forebay::pipeline::audio
