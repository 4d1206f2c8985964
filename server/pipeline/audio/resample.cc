#include "server/pipeline/audio/resample.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/audio/parameter.h"

namespace forebay::pipeline::audio {
namespace {

// Of all filters that are kept; those of one rate may have half of it.
constexpr std::size_t kKeptBytes = std::size_t{8} << 20;
constexpr std::size_t kKeptRates = 16;

absl::Status CheckRate(std::uint32_t rate) {
  if (rate >= 1 && rate <= kMaxRate) return absl::OkStatus();
  if (rate == 0) {
    return absl::InvalidArgumentError(
        "the array does not tell its sample rate: give orig_freq");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the clip has a sample rate of ", rate, " Hz, not 1 to ", kMaxRate));
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
  // Others may have made them meanwhile.
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
  FOREBAY_ASSIGN_OR_RETURN(const Signal made, At(RateOf(signal), signal));
  if (RateOf(signal) == rates_.new_freq) return made;
  FOREBAY_ASSIGN_OR_RETURN(const Kernel kernel, KernelFrom(RateOf(signal)));
  FOREBAY_RETURN_IF_ERROR(kernel->CheckWork(made.frames, channels()));
  return made;
}

absl::StatusOr<Signal> Resample::LongestOf(const Signal& signal) const {
  Signal slowest = signal;
  if (rates_.lowest_freq != 0)
    slowest.rate = std::min(slowest.rate, rates_.lowest_freq);
  return At(RateOf(slowest), slowest);
}

absl::StatusOr<Signal> Resample::At(std::uint32_t rate,
                                    const Signal& signal) const {
  Signal made{.frames = signal.frames, .rate = rates_.new_freq};
  if (rate == rates_.new_freq) return made;
  FOREBAY_ASSIGN_OR_RETURN(const Kernel kernel, KernelFrom(rate));
  FOREBAY_ASSIGN_OR_RETURN(made.frames, kernel->FramesOf(signal.frames));
  return made;
}

absl::Status Resample::Run(const float* in, const Signal& signal,
                           transform::Draws& /*draws*/,
                           transform::Scratch& scratch, float* out) const {
  const std::uint32_t rate = RateOf(signal);
  if (rate == rates_.new_freq) {
    std::copy(in, in + signal.frames * channels(), out);
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(const Kernel kernel, KernelFrom(rate));
  const ResampleKernel::Room size = kernel->RoomFor(signal.frames);
  FOREBAY_ASSIGN_OR_RETURN(
      float* const room,
      scratch.Allocate<float>(size.elements, "a channel of a clip"));
  float* const clip = room + size.before;
  std::fill(room, clip, 0.0F);
  std::fill(clip + signal.frames, room + size.elements, 0.0F);
  for (std::size_t c = 0; c < channels(); ++c) {
    for (std::uint64_t i = 0; i < signal.frames; ++i)
      clip[i] = in[i * channels() + c];
    kernel->Run(room, signal.frames, out + c, channels());
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::audio
