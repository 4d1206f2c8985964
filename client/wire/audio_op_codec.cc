#include "client/wire/audio_op_codec.h"

#include <protozero/pbf_builder.hpp>
#include <string>

namespace forebay::client::wire {
namespace {

// Field numbers of proto.Op in proto/job.proto, and of the messages in
// proto/audio_ops.proto.
enum class OpTag : uint32_t {
  kResample = 19,
  kToMono = 20,
  kVol = 21,
  kSpectrogram = 22,
  kMelSpectrogram = 23,
  kAmplitudeToDb = 24,
  kMfcc = 25,
  kTimeMasking = 26,
  kFrequencyMasking = 27,
};

enum class ResampleTag : protozero::pbf_tag_type {
  kOrigFreq = 1,
  kNewFreq = 2,
  kMethod = 3,
  kLowpassFilterWidth = 4,
  kRolloff = 5,
  kBeta = 6,
  kLowestFreq = 7,
};

enum class ToMonoTag : protozero::pbf_tag_type {};
enum class VolTag : protozero::pbf_tag_type { kGain = 1, kGainType = 2 };

enum class SpectrogramTag : protozero::pbf_tag_type {
  kFft = 1,
  kWinLength = 2,
  kHopLength = 3,
  kPad = 4,
  kWindow = 5,
  kPower = 6,
  kNormalized = 7,
  kCenter = 8,
  kPadMode = 9,
};

enum class MelSpectrogramTag : protozero::pbf_tag_type {
  kSpectrogram = 1,
  kSampleRate = 2,
  kMels = 3,
  kFMin = 4,
  kFMax = 5,
  kMelScale = 6,
  kNorm = 7,
};

enum class AmplitudeToDbTag : protozero::pbf_tag_type {
  kStype = 1,
  kTopDb = 2
};

enum class MfccTag : protozero::pbf_tag_type {
  kMel = 1,
  kMfcc = 2,
  kOrtho = 3,
  kLogMels = 4,
};

enum class TimeMaskingTag : protozero::pbf_tag_type { kParam = 1, kP = 2 };
enum class FrequencyMaskingTag : protozero::pbf_tag_type { kParam = 1 };

Status BadArgument(const char* what) {
  return Status(FOREBAY_INVALID_ARGUMENT, what);
}

// Adds an op to a pipeline. `body` receives the builder of the op's message.
template <typename Tag, typename Body>
void AddOp(OpTag tag, PipelineEncoder* pipeline, const Body& body) {
  std::string bytes;
  protozero::pbf_builder<Tag> message(bytes);
  body(message);
  pipeline->AddMessage(static_cast<uint32_t>(tag), bytes);
}

Status Check(const forebay_spectrogram& spectrogram) {
  if (spectrogram.window < FOREBAY_HANN ||
      spectrogram.window > FOREBAY_RECTANGULAR)
    return BadArgument("spectrogram: unknown window");
  if (spectrogram.normalized < FOREBAY_NOT_NORMALIZED ||
      spectrogram.normalized > FOREBAY_BY_FRAME_LENGTH)
    return BadArgument("spectrogram: unknown normalized");
  if (spectrogram.pad_mode < FOREBAY_PAD_CONSTANT ||
      spectrogram.pad_mode > FOREBAY_PAD_SYMMETRIC)
    return BadArgument("spectrogram: unknown pad_mode");
  return Status();
}

Status Check(const forebay_mel_spectrogram& mel) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(Check(mel.spectrogram));
  if (mel.mel_scale < FOREBAY_MEL_HTK || mel.mel_scale > FOREBAY_MEL_SLANEY)
    return BadArgument("mel spectrogram: unknown mel_scale");
  return Status();
}

void Write(const forebay_spectrogram& spectrogram,
           protozero::pbf_builder<SpectrogramTag>& op) {
  using Tag = SpectrogramTag;
  op.add_uint32(Tag::kFft, spectrogram.n_fft);
  op.add_uint32(Tag::kWinLength, spectrogram.win_length);
  op.add_uint32(Tag::kHopLength, spectrogram.hop_length);
  op.add_uint32(Tag::kPad, spectrogram.pad);
  op.add_enum(Tag::kWindow, spectrogram.window);
  op.add_uint32(Tag::kPower, spectrogram.power);
  op.add_enum(Tag::kNormalized, spectrogram.normalized);
  op.add_bool(Tag::kCenter, spectrogram.center != 0);
  op.add_enum(Tag::kPadMode, spectrogram.pad_mode);
}

void Write(const forebay_mel_spectrogram& mel,
           protozero::pbf_builder<MelSpectrogramTag>& op) {
  using Tag = MelSpectrogramTag;
  {
    protozero::pbf_builder<SpectrogramTag> part(op, Tag::kSpectrogram);
    Write(mel.spectrogram, part);
  }
  op.add_uint32(Tag::kSampleRate, mel.sample_rate);
  op.add_uint32(Tag::kMels, mel.n_mels);
  op.add_double(Tag::kFMin, mel.f_min);
  if (mel.f_max != nullptr) op.add_double(Tag::kFMax, *mel.f_max);
  op.add_enum(Tag::kMelScale, mel.mel_scale);
  op.add_bool(Tag::kNorm, mel.norm != 0);
}

}  // namespace

Status AddResample(const forebay_resampling& resampling,
                   PipelineEncoder* pipeline) {
  if (resampling.method < FOREBAY_SINC_HANN ||
      resampling.method > FOREBAY_SINC_KAISER)
    return BadArgument("resample: unknown method");
  using Tag = ResampleTag;
  AddOp<Tag>(OpTag::kResample, pipeline, [&](auto& op) {
    op.add_uint32(Tag::kOrigFreq, resampling.orig_freq);
    op.add_uint32(Tag::kNewFreq, resampling.new_freq);
    op.add_enum(Tag::kMethod, resampling.method);
    op.add_uint32(Tag::kLowpassFilterWidth, resampling.lowpass_filter_width);
    op.add_double(Tag::kRolloff, resampling.rolloff);
    if (resampling.beta != nullptr) op.add_double(Tag::kBeta, *resampling.beta);
    op.add_uint32(Tag::kLowestFreq, resampling.lowest_freq);
  });
  return Status();
}

void AddToMono(PipelineEncoder* pipeline) {
  AddOp<ToMonoTag>(OpTag::kToMono, pipeline, [](auto&) {});
}

Status AddVol(double gain, forebay_gain_type gain_type,
              PipelineEncoder* pipeline) {
  if (gain_type < FOREBAY_GAIN_AMPLITUDE || gain_type > FOREBAY_GAIN_DB)
    return BadArgument("vol: unknown gain_type");
  AddOp<VolTag>(OpTag::kVol, pipeline, [&](auto& op) {
    op.add_double(VolTag::kGain, gain);
    op.add_enum(VolTag::kGainType, gain_type);
  });
  return Status();
}

Status AddSpectrogram(const forebay_spectrogram& spectrogram,
                      PipelineEncoder* pipeline) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(Check(spectrogram));
  AddOp<SpectrogramTag>(OpTag::kSpectrogram, pipeline,
                        [&](auto& op) { Write(spectrogram, op); });
  return Status();
}

Status AddMelSpectrogram(const forebay_mel_spectrogram& mel,
                         PipelineEncoder* pipeline) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(Check(mel));
  AddOp<MelSpectrogramTag>(OpTag::kMelSpectrogram, pipeline,
                           [&](auto& op) { Write(mel, op); });
  return Status();
}

Status AddAmplitudeToDb(forebay_amplitude_scale stype, const double* top_db,
                        PipelineEncoder* pipeline) {
  if (stype < FOREBAY_POWER || stype > FOREBAY_MAGNITUDE)
    return BadArgument("amplitude to dB: unknown stype");
  AddOp<AmplitudeToDbTag>(OpTag::kAmplitudeToDb, pipeline, [&](auto& op) {
    op.add_enum(AmplitudeToDbTag::kStype, stype);
    if (top_db != nullptr) op.add_double(AmplitudeToDbTag::kTopDb, *top_db);
  });
  return Status();
}

Status AddMfcc(const forebay_mel_spectrogram& mel, uint32_t n_mfcc, bool ortho,
               bool log_mels, PipelineEncoder* pipeline) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(Check(mel));
  AddOp<MfccTag>(OpTag::kMfcc, pipeline, [&](auto& op) {
    {
      protozero::pbf_builder<MelSpectrogramTag> part(op, MfccTag::kMel);
      Write(mel, part);
    }
    op.add_uint32(MfccTag::kMfcc, n_mfcc);
    op.add_bool(MfccTag::kOrtho, ortho);
    op.add_bool(MfccTag::kLogMels, log_mels);
  });
  return Status();
}

void AddTimeMasking(uint32_t time_mask_param, double p,
                    PipelineEncoder* pipeline) {
  AddOp<TimeMaskingTag>(OpTag::kTimeMasking, pipeline, [&](auto& op) {
    op.add_uint32(TimeMaskingTag::kParam, time_mask_param);
    op.add_double(TimeMaskingTag::kP, p);
  });
}

void AddFrequencyMasking(uint32_t freq_mask_param, PipelineEncoder* pipeline) {
  AddOp<FrequencyMaskingTag>(OpTag::kFrequencyMasking, pipeline, [&](auto& op) {
    op.add_uint32(FrequencyMaskingTag::kParam, freq_mask_param);
  });
}

}  // namespace forebay::client::wire
