#include "server/pipeline/audio/stft_reader.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/audio/parameter.h"

namespace forebay::pipeline::audio {
namespace {

// The most samples of one transform.
constexpr std::uint32_t kMaxFft = 65536;
// The most bands of a mel scale.
constexpr std::uint32_t kMaxMels = 4096;
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

absl::StatusOr<WindowFunction> ReadWindow(proto::Spectrogram::Window value) {
  switch (value) {
    case proto::Spectrogram::WINDOW_UNSPECIFIED:
    case proto::Spectrogram::HANN:
      return WindowFunction::kHann;
    case proto::Spectrogram::HAMMING:
      return WindowFunction::kHamming;
    case proto::Spectrogram::BLACKMAN:
      return WindowFunction::kBlackman;
    case proto::Spectrogram::BARTLETT:
      return WindowFunction::kBartlett;
    case proto::Spectrogram::RECTANGULAR:
      return WindowFunction::kRectangular;
    default:
      return UnknownValue("window", value);
  }
}

absl::StatusOr<StftOptions::Scaling> ReadScaling(
    proto::Spectrogram::Normalized value) {
  switch (value) {
    case proto::Spectrogram::NORMALIZED_UNSPECIFIED:
    case proto::Spectrogram::NOT:
      return StftOptions::Scaling::kNone;
    case proto::Spectrogram::BY_WINDOW:
      return StftOptions::Scaling::kByWindow;
    case proto::Spectrogram::BY_FRAME_LENGTH:
      return StftOptions::Scaling::kByFrameLength;
    default:
      return UnknownValue("normalized", value);
  }
}

absl::StatusOr<bool> ReadReflects(proto::Spectrogram::PadMode value) {
  switch (value) {
    case proto::Spectrogram::PAD_MODE_UNSPECIFIED:
    case proto::Spectrogram::REFLECT:
      return true;
    case proto::Spectrogram::CONSTANT:
      return false;
    default:
      return absl::InvalidArgumentError(
          "pad_mode is neither reflect nor constant");
  }
}

}  // namespace

absl::StatusOr<StftOptions> ReadStft(const proto::Spectrogram& op) {
  StftOptions options;
  options.n_fft = OrDefault(op.n_fft(), 400);
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<std::uint32_t>(options.n_fft, 2, kMaxFft, "n_fft"));
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
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<std::uint32_t>(options.pad, 0, kMaxRate, "pad"));
  FOREBAY_ASSIGN_OR_RETURN(options.window, ReadWindow(op.window()));
  FOREBAY_ASSIGN_OR_RETURN(options.scaling, ReadScaling(op.normalized()));
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<std::uint32_t>(OrDefault(op.power(), 2), 1, 2, "power"));
  options.squared = op.power() != 1;
  options.center = !op.has_center() || op.center();
  FOREBAY_ASSIGN_OR_RETURN(options.reflects, ReadReflects(op.pad_mode()));
  return options;
}

absl::StatusOr<MelOptions> ReadMel(const proto::MelSpectrogram& op,
                                   const StftOptions& stft) {
  MelOptions options;
  options.bins = stft.n_fft / 2 + 1;
  options.sample_rate = OrDefault(op.sample_rate(), 16000);
  FOREBAY_RETURN_IF_ERROR(CheckParameter<std::uint32_t>(
      options.sample_rate, 2, kMaxRate, "sample_rate"));
  options.n_mels = OrDefault(op.n_mels(), 128);
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<std::uint32_t>(options.n_mels, 1, kMaxMels, "n_mels"));
  options.f_min = op.f_min();
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<double>(options.f_min, 0, kMaxRate, "f_min"));
  const std::uint32_t half_rate = options.sample_rate / 2;
  options.f_max = op.has_f_max() ? op.f_max() : half_rate;
  FOREBAY_RETURN_IF_ERROR(CheckParameter<double>(
      options.f_max, options.f_min + 1, kMaxRate, "f_max"));
  switch (op.mel_scale()) {
    case proto::MelSpectrogram::MEL_SCALE_UNSPECIFIED:
    case proto::MelSpectrogram::HTK:
      break;
    case proto::MelSpectrogram::SLANEY:
      options.slaney = true;
      break;
    default:
      return UnknownValue("mel_scale", op.mel_scale());
  }
  options.norm = op.norm();
  return options;
}

}  // namespace forebay::pipeline::audio
