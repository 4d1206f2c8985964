// Resamples clips by filters (resample_kernel.h). Filters for up to 16 original
// rates are kept between clips. A channel is copied into scratch memory, with
// zeros before and behind it for the frames outside of the clip. The filters
// therefore need no checks of bounds.

#include "server/pipeline/audio/resample.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/audio/audio_ops.h"
#include "server/pipeline/audio/parameter.h"

namespace forebay::pipeline::audio {
namespace {

// The most bytes of all kept filters. The filters of one rate take at most half
// of this.
constexpr std::size_t kKeptBytes = std::size_t{8} << 20;
// The most rates whose filters are kept.
constexpr std::size_t kKeptRates = 16;

// Checks a clip's original rate.
absl::Status CheckRate(std::uint32_t rate) {
  if (rate >= 1 && rate <= kMaxRate) return absl::OkStatus();
  if (rate == 0) {
    return absl::InvalidArgumentError(
        "the array does not tell its sample rate: give orig_freq");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the clip has a sample rate of ", rate, " Hz, not 1 to ", kMaxRate));
}

// Returns the range of the signal's frames that lie in `room`.
FrameRange FramesIn(const ResampleKernel::Room& room, const Signal& signal) {
  const auto frames = static_cast<std::int64_t>(signal.frames);
  const std::int64_t end = room.begin + static_cast<std::int64_t>(room.length);
  const std::int64_t begin = std::clamp<std::int64_t>(room.begin, 0, frames);
  return {.begin = static_cast<std::uint64_t>(begin),
          .length = static_cast<std::uint64_t>(
              std::max(std::min(end, frames) - begin, std::int64_t{0}))};
}

}  // namespace

Resample::Resample(const ResampleRates& rates, const ResampleOptions& options,
                   std::vector<std::uint64_t> clip_shape)
    : rates_(rates), options_(options), shape_(std::move(clip_shape)) {}

absl::StatusOr<std::unique_ptr<const Op>> Resample::Create(
    const ResampleRates& rates, const ResampleOptions& options,
    std::uint32_t first_rate, std::vector<std::uint64_t> clip_shape) {
  std::unique_ptr<Resample> made(
      new Resample(rates, options, std::move(clip_shape)));
  const std::uint32_t rate =
      rates.orig_freq == 0 ? first_rate : rates.orig_freq;
  FOREBAY_RETURN_IF_ERROR(CheckRate(rate));
  FOREBAY_RETURN_IF_ERROR(made->KernelFrom(rate).status());
  return made;
}

Resample::Kernel Resample::KeptLocked(std::uint32_t rate) const {
  for (const OfRate& kept : kernels_)
    if (kept.rate == rate) return kept.kernel;
  return nullptr;
}

absl::StatusOr<Resample::Kernel> Resample::KernelFrom(
    std::uint32_t rate) const {
  FOREBAY_RETURN_IF_ERROR(CheckRate(rate));
  {
    const base::MutexLock lock(&mutex_);
    if (Kernel kept = KeptLocked(rate); kept != nullptr) return kept;
  }
  FOREBAY_ASSIGN_OR_RETURN(
      Kernel kernel, ResampleKernel::Create(rate, rates_.new_freq, options_));
  const base::MutexLock lock(&mutex_);
  // Another thread may have made the same filters meanwhile.
  if (Kernel kept = KeptLocked(rate); kept != nullptr) return kept;
  std::size_t bytes = kernel->table_bytes();
  for (const OfRate& kept : kernels_) bytes += kept.kernel->table_bytes();
  while (!kernels_.empty() &&
         (bytes > kKeptBytes || kernels_.size() >= kKeptRates)) {
    bytes -= kernels_.front().kernel->table_bytes();
    kernels_.erase(kernels_.begin());
  }
  kernels_.push_back({.rate = rate, .kernel = kernel});
  return kernel;
}

absl::StatusOr<Signal> Resample::OutputOf(const Signal& signal) const {
  const std::uint32_t rate = RateOf(signal);
  if (rate == rates_.new_freq)
    return Signal{.frames = signal.frames, .rate = rate};
  FOREBAY_ASSIGN_OR_RETURN(const Kernel kernel, KernelFrom(rate));
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t frames,
                           kernel->FramesOf(signal.frames));
  return Signal{.frames = frames, .rate = rates_.new_freq};
}

absl::StatusOr<Signal> Resample::LongestOf(const Signal& signal) const {
  Signal slowest = signal;
  if (rates_.lowest_freq != 0)
    // The lower the original rate, the more frames the output has.
    slowest.rate = std::min(slowest.rate, rates_.lowest_freq);
  return OutputOf(slowest);
}

absl::StatusOr<FrameRange> Resample::InputFor(const Signal& signal,
                                              const FrameRange& part) const {
  const std::uint32_t rate = RateOf(signal);
  if (rate == rates_.new_freq || part.length == 0) return part;
  FOREBAY_ASSIGN_OR_RETURN(const Kernel kernel, KernelFrom(rate));
  return FramesIn(kernel->RoomFor(part), signal);
}

absl::Status Resample::Run(const float* in, const Signal& signal,
                           const transform::Drawn& drawn,
                           transform::Scratch& scratch, float* out) const {
  FOREBAY_ASSIGN_OR_RETURN(const Signal made, OutputOf(signal));
  return RunPart(in, signal, {.begin = 0, .length = made.frames}, drawn,
                 scratch, out);
}

absl::Status Resample::RunPart(const float* in, const Signal& signal,
                               const FrameRange& part,
                               const transform::Drawn& /*drawn*/,
                               transform::Scratch& scratch, float* out) const {
  if (part.length == 0) return absl::OkStatus();
  const std::size_t channels = shape_.empty() ? 1 : shape_.front();
  const std::uint32_t rate = RateOf(signal);
  if (rate == rates_.new_freq) {
    std::copy(in, in + part.length * channels, out);
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(const Kernel kernel, KernelFrom(rate));
  FOREBAY_RETURN_IF_ERROR(kernel->CheckWork(part.length, channels));
  const ResampleKernel::Room size = kernel->RoomFor(part);
  const FrameRange present = FramesIn(size, signal);
  FOREBAY_ASSIGN_OR_RETURN(
      float* const room,
      scratch.Allocate<float>(size.length, "a channel of a clip"));
  float* const clip =
      room + (static_cast<std::int64_t>(present.begin) - size.begin);
  // Frames before and behind the clip are 0.
  std::fill(room, clip, 0.0F);
  std::fill(clip + present.length, room + size.length, 0.0F);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::uint64_t i = 0; i < present.length; ++i)
      clip[i] = in[i * channels + c];
    kernel->Run(room, part, out + c, channels);
  }
  return absl::OkStatus();
}

// Parameters that are 0 or missing get torchaudio's defaults.
OpOrRefusal Make(const proto::Resample& op, const Input& input) {
  FOREBAY_RETURN_IF_ERROR(CheckClip(input));
  const ResampleRates rates{.orig_freq = op.orig_freq(),
                            .new_freq = op.new_freq(),
                            .lowest_freq = op.lowest_freq()};
  ResampleOptions options;
  if (op.lowpass_filter_width() != 0)
    options.lowpass_filter_width = op.lowpass_filter_width();
  if (op.rolloff() != 0) options.rolloff = op.rolloff();
  if (op.has_beta()) options.beta = op.beta();
  options.kaiser = op.method() == proto::Resample::SINC_KAISER;
  return Resample::Create(rates, options, input.rate, input.frame_shape);
}

}  // namespace forebay::pipeline::audio
