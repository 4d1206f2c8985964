#include "server/pipeline/audio/stft_reader.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/audio/parameter.h"

namespace forebay::pipeline::audio {
namespace {

// Upper bound of an FFT's size times its largest prime factor. The FFT's time
// is proportional to this product.
constexpr std::uint64_t kMaxFftWork = std::uint64_t{1} << 24;

// Returns `value`, or `otherwise` if `value` is 0, which means that it was not
// given.
std::uint32_t OrDefault(std::uint32_t value, std::uint32_t otherwise) {
  return value == 0 ? otherwise : value;
}

// Returns the largest prime factor of a number.
std::uint32_t LargestPrimeOf(std::uint32_t number) {
  std::uint32_t largest = 1;
  for (std::uint32_t p = 2; p * p <= number; ++p) {
    for (; number % p == 0; number /= p) largest = p;
  }
  return number > 1 ? number : largest;
}

WindowFunction WindowOf(proto::Spectrogram::Window value) {
  switch (value) {
    case proto::Spectrogram::HAMMING:
      return WindowFunction::kHamming;
    case proto::Spectrogram::BLACKMAN:
      return WindowFunction::kBlackman;
    case proto::Spectrogram::BARTLETT:
      return WindowFunction::kBartlett;
    case proto::Spectrogram::RECTANGULAR:
      return WindowFunction::kRectangular;
    default:
      return WindowFunction::kHann;
  }
}

StftOptions::Scaling ScalingOf(proto::Spectrogram::Normalized value) {
  switch (value) {
    case proto::Spectrogram::BY_WINDOW:
      return StftOptions::Scaling::kByWindow;
    case proto::Spectrogram::BY_FRAME_LENGTH:
      return StftOptions::Scaling::kByFrameLength;
    default:
      return StftOptions::Scaling::kNone;
  }
}

}  // namespace

absl::StatusOr<StftOptions> ReadStft(const proto::Spectrogram& op) {
  StftOptions options;
  options.n_fft = OrDefault(op.n_fft(), 400);
  const std::uint64_t prime = LargestPrimeOf(options.n_fft);
  if (prime * options.n_fft > kMaxFftWork) {
    return absl::InvalidArgumentError(
        absl::StrCat("n_fft is ", options.n_fft, ", whose prime factor ", prime,
                     " makes it slow: take a number of smaller factors"));
  }
  options.win_length = OrDefault(op.win_length(), options.n_fft);
  FOREBAY_RETURN_IF_ERROR(CheckParameter<std::uint32_t>(
      options.win_length, 1, options.n_fft, "win_length"));
  // A win_length of 1 gives the default hop_length 0, which the check refuses.
  options.hop_length = OrDefault(op.hop_length(), options.win_length / 2);
  FOREBAY_RETURN_IF_ERROR(CheckParameter<std::uint32_t>(
      options.hop_length, 1, kMaxRate, "hop_length"));
  options.pad = op.pad();
  options.window = WindowOf(op.window());
  options.scaling = ScalingOf(op.normalized());
  options.squared = op.power() != 1;
  options.center = !op.has_center() || op.center();
  options.reflects = op.pad_mode() != proto::Spectrogram::CONSTANT;
  return options;
}

absl::StatusOr<MelOptions> ReadMel(const proto::MelSpectrogram& op,
                                   const StftOptions& stft) {
  MelOptions options;
  options.bins = stft.n_fft / 2 + 1;
  options.sample_rate = OrDefault(op.sample_rate(), 16000);
  options.n_mels = OrDefault(op.n_mels(), 128);
  options.f_min = op.f_min();
  const std::uint32_t half_rate = options.sample_rate / 2;
  options.f_max = op.has_f_max() ? op.f_max() : half_rate;
  FOREBAY_RETURN_IF_ERROR(CheckParameter<double>(
      options.f_max, options.f_min + 1, kMaxRate, "f_max"));
  options.slaney = op.mel_scale() == proto::MelSpectrogram::SLANEY;
  options.norm = op.norm();
  return options;
}

}  // namespace forebay::pipeline::audio
