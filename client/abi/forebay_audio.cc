// The C interface to ops of audio (forebay.h): turns each call into the message
// of an op.

#include "client/abi/pipeline_ops.h"
#include "client/forebay.h"

namespace message = forebay::message;
using forebay::client::abi::AddOp;
using forebay::client::abi::UnlessKnown;

namespace {

const char* Problem(const forebay_resampling& resampling) {
  return UnlessKnown(resampling.method, FOREBAY_SINC_HANN, FOREBAY_SINC_KAISER,
                     "resample: unknown method");
}

const char* Problem(const forebay_spectrogram& spectrogram) {
  const char* problem =
      UnlessKnown(spectrogram.window, FOREBAY_HANN, FOREBAY_RECTANGULAR,
                  "spectrogram: unknown window");
  if (problem == nullptr)
    problem =
        UnlessKnown(spectrogram.normalized, FOREBAY_NOT_NORMALIZED,
                    FOREBAY_BY_FRAME_LENGTH, "spectrogram: unknown normalized");
  if (problem == nullptr)
    problem =
        UnlessKnown(spectrogram.pad_mode, FOREBAY_PAD_CONSTANT,
                    FOREBAY_PAD_SYMMETRIC, "spectrogram: unknown pad_mode");
  return problem;
}

const char* Problem(const forebay_mel_spectrogram& mel) {
  const char* const problem = Problem(mel.spectrogram);
  if (problem != nullptr) return problem;
  return UnlessKnown(mel.mel_scale, FOREBAY_MEL_HTK, FOREBAY_MEL_SLANEY,
                     "mel spectrogram: unknown mel_scale");
}

message::Resample ToMessage(const forebay_resampling& resampling) {
  message::Resample result = {
      .orig_freq = resampling.orig_freq,
      .new_freq = resampling.new_freq,
      .method = resampling.method,
      .lowpass_filter_width = resampling.lowpass_filter_width,
      .rolloff = resampling.rolloff,
      .beta = {},
      .lowest_freq = resampling.lowest_freq};
  if (resampling.beta != nullptr) result.beta = *resampling.beta;
  return result;
}

message::Spectrogram ToMessage(const forebay_spectrogram& spectrogram) {
  return {.n_fft = spectrogram.n_fft,
          .win_length = spectrogram.win_length,
          .hop_length = spectrogram.hop_length,
          .pad = spectrogram.pad,
          .window = spectrogram.window,
          .power = spectrogram.power,
          .normalized = spectrogram.normalized,
          .center = spectrogram.center != 0,
          .pad_mode = spectrogram.pad_mode};
}

message::MelSpectrogram ToMessage(const forebay_mel_spectrogram& mel) {
  message::MelSpectrogram result = {.spectrogram = ToMessage(mel.spectrogram),
                                    .sample_rate = mel.sample_rate,
                                    .n_mels = mel.n_mels,
                                    .f_min = mel.f_min,
                                    .f_max = {},
                                    .mel_scale = mel.mel_scale,
                                    .norm = mel.norm != 0};
  if (mel.f_max != nullptr) result.f_max = *mel.f_max;
  return result;
}

// Appends the op that a C struct describes.
template <typename Struct>
forebay_status AddOpOf(forebay_pipeline* pipeline, const Struct* from) {
  const char* const problem =
      from == nullptr ? "an argument is null" : Problem(*from);
  return AddOp(pipeline, problem, [&] { return ToMessage(*from); });
}

}  // namespace

forebay_status forebay_pipeline_add_resample(
    forebay_pipeline* pipeline, const forebay_resampling* resampling) {
  return AddOpOf(pipeline, resampling);
}

forebay_status forebay_pipeline_add_to_mono(forebay_pipeline* pipeline) {
  return AddOp(pipeline, nullptr, [&] { return message::ToMono(); });
}

forebay_status forebay_pipeline_add_vol(forebay_pipeline* pipeline, double gain,
                                        forebay_gain_type gain_type) {
  return AddOp(
      pipeline,
      UnlessKnown(gain_type, FOREBAY_GAIN_AMPLITUDE, FOREBAY_GAIN_DB,
                  "vol: unknown gain_type"),
      [&] { return message::Vol{.gain = gain, .gain_type = gain_type}; });
}

forebay_status forebay_pipeline_add_spectrogram(
    forebay_pipeline* pipeline, const forebay_spectrogram* spectrogram) {
  return AddOpOf(pipeline, spectrogram);
}

forebay_status forebay_pipeline_add_mel_spectrogram(
    forebay_pipeline* pipeline, const forebay_mel_spectrogram* mel) {
  return AddOpOf(pipeline, mel);
}

forebay_status forebay_pipeline_add_amplitude_to_db(
    forebay_pipeline* pipeline, forebay_amplitude_scale stype,
    const double* top_db) {
  return AddOp(pipeline,
               UnlessKnown(stype, FOREBAY_POWER, FOREBAY_MAGNITUDE,
                           "amplitude to dB: unknown stype"),
               [&] {
                 message::AmplitudeToDB op = {.stype = stype, .top_db = {}};
                 if (top_db != nullptr) op.top_db = *top_db;
                 return op;
               });
}

forebay_status forebay_pipeline_add_mfcc(forebay_pipeline* pipeline,
                                         const forebay_mel_spectrogram* mel,
                                         uint32_t n_mfcc, int ortho,
                                         int log_mels) {
  const char* const problem =
      mel == nullptr ? "an argument is null" : Problem(*mel);
  return AddOp(pipeline, problem, [&] {
    return message::Mfcc{.mel = ToMessage(*mel),
                         .n_mfcc = n_mfcc,
                         .ortho = ortho != 0,
                         .log_mels = log_mels != 0};
  });
}

forebay_status forebay_pipeline_add_time_masking(forebay_pipeline* pipeline,
                                                 uint32_t time_mask_param,
                                                 double p) {
  return AddOp(pipeline, nullptr, [&] {
    return message::TimeMasking{.time_mask_param = time_mask_param, .p = p};
  });
}

forebay_status forebay_pipeline_add_frequency_masking(
    forebay_pipeline* pipeline, uint32_t freq_mask_param) {
  return AddOp(pipeline, nullptr, [&] {
    return message::FrequencyMasking{.freq_mask_param = freq_mask_param};
  });
}
