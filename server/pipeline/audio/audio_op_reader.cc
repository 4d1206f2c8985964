// Makes ops of audio from their proto messages. A parameter that is 0 or
// missing gets torchaudio's default. The bounds in audio_ops.proto keep tables
// small and arithmetic within range. CheckWork bounds the time that an op takes
// for one clip. An op that takes clips needs the time as first axis, and at
// most one further axis, the channels.

#include "server/pipeline/audio/audio_op_reader.h"

#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/audio/decibels.h"
#include "server/pipeline/audio/masking.h"
#include "server/pipeline/audio/mfcc.h"
#include "server/pipeline/audio/parameter.h"
#include "server/pipeline/audio/resample.h"
#include "server/pipeline/audio/spectrogram.h"
#include "server/pipeline/audio/stft_reader.h"
#include "server/pipeline/audio/to_mono.h"
#include "server/pipeline/audio/volume_op.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

using KindCase = proto::Op::KindCase;
using Made = absl::StatusOr<std::unique_ptr<const Op>>;

constexpr double kLn10 = 2.302585092994045684;

// Checks that the input of an op that takes clips is (frames) or (frames,
// channels).
absl::Status CheckClip(const Input& input) {
  if (input.frame_shape.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes clips of 1 or 2 axes, (frames) or (frames, "
                     "channels), not arrays of ",
                     input.frame_shape.size() + 1));
  }
  if (input.frame_shape.empty() || input.frame_shape.front() > 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError("takes clips with channels, not with none");
}

// Reads Resample, with torchaudio's defaults.
Made ReadResample(const proto::Resample& op, const Input& input) {
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

// Returns 10 to the power `exponent`, with the same bits on every CPU.
double PowerOf10(double exponent) {
  return transform::ExactExp(exponent * kLn10);
}

// Reads Vol. Every kind of gain becomes a factor for amplitudes.
Made ReadVolume(const proto::Vol& op, const Input& input) {
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
      factor = PowerOf10(factor / 20);
      break;
  }
  return std::make_unique<const VolumeOp>(static_cast<float>(factor),
                                          input.frame_shape);
}

// Reads Spectrogram.
Made ReadSpectrogram(const proto::Spectrogram& op, const Input& input) {
  FOREBAY_ASSIGN_OR_RETURN(const StftOptions stft, ReadStft(op));
  return std::make_unique<const Spectrogram>(stft, std::nullopt,
                                             input.frame_shape);
}

// Reads MelSpectrogram: a spectrogram whose bins are summed in bands.
Made ReadMelSpectrogram(const proto::MelSpectrogram& op, const Input& input) {
  FOREBAY_ASSIGN_OR_RETURN(const StftOptions stft, ReadStft(op.spectrogram()));
  FOREBAY_ASSIGN_OR_RETURN(const MelOptions mel, ReadMel(op, stft));
  return std::make_unique<const Spectrogram>(stft, MelScale(mel),
                                             input.frame_shape);
}

// Reads AmplitudeToDB.
Made ReadDecibels(const proto::AmplitudeToDB& op, const Input& input) {
  DecibelOptions options{.magnitudes =
                             op.stype() == proto::AmplitudeToDB::MAGNITUDE};
  if (op.has_top_db()) options.top_db = static_cast<float>(op.top_db());
  return std::make_unique<const AmplitudeToDb>(options, input.frame_shape);
}

// Reads MFCC, which makes a mel spectrogram of its own.
Made ReadMfcc(const proto::Mfcc& op, const Input& input) {
  FOREBAY_ASSIGN_OR_RETURN(const StftOptions stft,
                           ReadStft(op.mel().spectrogram()));
  FOREBAY_ASSIGN_OR_RETURN(const MelOptions mel, ReadMel(op.mel(), stft));
  MfccOptions options{.ortho = !op.has_ortho() || op.ortho(),
                      .log_mels = op.log_mels()};
  if (op.n_mfcc() != 0) options.n_mfcc = op.n_mfcc();
  FOREBAY_RETURN_IF_ERROR(
      CheckParameter<std::uint32_t>(options.n_mfcc, 1, mel.n_mels, "n_mfcc"));
  return std::make_unique<const Mfcc>(stft, mel, options, input.frame_shape);
}

// Makes a mask of times or frequencies.
Made MakeMasking(const MaskOptions& options, const Input& input) {
  if (input.frame_shape.empty()) {
    return absl::InvalidArgumentError(
        "takes spectrograms, not arrays of one axis");
  }
  return std::make_unique<const Masking>(options, input.frame_shape);
}

}  // namespace

Made ReadOp(const proto::Op& op, const Input& input) {
  switch (op.kind_case()) {
    case KindCase::kVol:
      return ReadVolume(op.vol(), input);
    case KindCase::kAmplitudeToDb:
      return ReadDecibels(op.amplitude_to_db(), input);
    case KindCase::kTimeMasking:
      return MakeMasking(
          {.of_times = true,
           .most = op.time_masking().time_mask_param(),
           .part = op.time_masking().has_p() ? op.time_masking().p() : 1},
          input);
    case KindCase::kFrequencyMasking:
      return MakeMasking({.of_times = false,
                          .most = op.frequency_masking().freq_mask_param(),
                          .part = 1},
                         input);
    default:
      break;
  }
  // The ops above take any array. The ops below take only clips.
  FOREBAY_RETURN_IF_ERROR(CheckClip(input));
  switch (op.kind_case()) {
    case KindCase::kResample:
      return ReadResample(op.resample(), input);
    case KindCase::kToMono:
      return std::make_unique<const ToMono>(
          input.frame_shape.empty() ? 1 : input.frame_shape.front());
    case KindCase::kSpectrogram:
      return ReadSpectrogram(op.spectrogram(), input);
    case KindCase::kMelSpectrogram:
      return ReadMelSpectrogram(op.mel_spectrogram(), input);
    case KindCase::kMfcc:
      return ReadMfcc(op.mfcc(), input);
    default:
      return absl::InvalidArgumentError("is not for arrays");
  }
}

}  // namespace forebay::pipeline::audio
