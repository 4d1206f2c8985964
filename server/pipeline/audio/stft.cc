// Computes short-time Fourier transforms one time at a time. Samples are
// multiplied by the window into working memory, with zeros on both sides if the
// window is shorter than n_fft. A clip is never padded in memory. Instead, a
// place outside of the clip is reflected, or reads as 0.

#include "server/pipeline/audio/stft.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace forebay::pipeline::audio {
namespace {

// The most elements of all transforms of a clip. So many elements take about a
// minute, in which the thread does nothing else.
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 32;

// Returns the factor by which powers are multiplied.
float ScaleOf(const StftOptions& options, const std::vector<float>& window) {
  if (options.scaling == StftOptions::Scaling::kNone) return 1;
  if (options.scaling == StftOptions::Scaling::kByFrameLength)
    return 1 / static_cast<float>(options.n_fft);
  double sum = 0;
  for (const float value : window)
    sum += static_cast<double>(value) * static_cast<double>(value);
  return static_cast<float>(1 / sum);
}

}  // namespace

Stft::Stft(const StftOptions& options)
    : options_(options),
      fft_(options.n_fft),
      window_(ValuesOf(options.window, options.win_length)),
      left_((options.n_fft - options.win_length) / 2),
      scale_(ScaleOf(options, window_)) {}

absl::StatusOr<std::uint64_t> Stft::TimesOf(std::uint64_t frames) const {
  const std::uint64_t padded = frames + std::uint64_t{2} * options_.pad;
  const std::uint64_t half = options_.center ? options_.n_fft / 2 : 0;
  if (options_.center && options_.reflects && half >= padded) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", frames, " frames, too few to reflect ", half,
                     " at each end: pad it, or take pad_mode \"constant\""));
  }
  if (padded + 2 * half < options_.n_fft) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", frames, " frames, fewer than n_fft, which is ",
                     options_.n_fft));
  }
  return 1 + (padded + 2 * half - options_.n_fft) / options_.hop_length;
}

absl::Status Stft::CheckWork(std::uint64_t times,
                             std::uint64_t channels) const {
  if (times <= kMaxElements / options_.n_fft / channels)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "has ", times, " times",
      channels == 1 ? "" : absl::StrCat(" of ", channels, " channels"),
      ", each of n_fft ", options_.n_fft,
      " elements: take a larger hop_length, ",
      channels == 1 ? "" : "fewer channels, ", "or a part of the clip"));
}

float Stft::At(const StftChannel& channel, std::int64_t place) const {
  const auto frames = static_cast<std::int64_t>(channel.frames);
  if (options_.center && options_.reflects) {
    // The clip is reflected together with the zeros at its ends.
    const std::int64_t pad = options_.pad;
    if (place < -pad) place = -2 * pad - place;
    if (place >= frames + pad) place = 2 * (frames + pad - 1) - place;
  }
  if (place < 0 || place >= frames) return 0;
  return channel.first[static_cast<std::size_t>(place) * channel.stride];
}

void Stft::Row(const StftChannel& channel, std::uint64_t time, float* work,
               float* bins) const {
  const std::size_t length = window_.size();
  const std::int64_t half = options_.center ? options_.n_fft / 2 : 0;
  const std::int64_t begin =
      static_cast<std::int64_t>(time * options_.hop_length) - half -
      options_.pad + left_;
  const auto frames = static_cast<std::int64_t>(channel.frames);
  std::fill(work, work + left_, 0.0F);
  float* const part = work + left_;
  // Most windows lie within the clip. Their samples need no check of bounds.
  if (begin >= 0 && begin + static_cast<std::int64_t>(length) <= frames) {
    const float* const from =
        channel.first + static_cast<std::size_t>(begin) * channel.stride;
    if (channel.stride == 1) {
      for (std::size_t i = 0; i < length; ++i) part[i] = from[i] * window_[i];
    } else {
      for (std::size_t i = 0; i < length; ++i)
        part[i] = from[i * channel.stride] * window_[i];
    }
  } else {
    for (std::size_t i = 0; i < length; ++i)
      part[i] = At(channel, begin + static_cast<std::int64_t>(i)) * window_[i];
  }
  std::fill(part + length, work + options_.n_fft, 0.0F);
  fft_.Powers(work, scale_, bins);
  if (options_.squared) return;
  for (std::size_t k = 0; k < fft_.bins(); ++k) bins[k] = std::sqrt(bins[k]);
}

}  // namespace forebay::pipeline::audio
