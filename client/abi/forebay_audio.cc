// The C interface to ops of audio (forebay.h): checks that pointers are not
// null, and translates. wire/audio_op_codec.h checks the values.

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/forebay.h"
#include "client/wire/audio_op_codec.h"

using forebay::client::Status;
using forebay::client::abi::Guard;
namespace wire = forebay::client::wire;

forebay_status forebay_pipeline_add_resample(
    forebay_pipeline* pipeline, const forebay_resampling* resampling) {
  return Guard(pipeline != nullptr && resampling != nullptr, [&] {
    return wire::AddResample(*resampling, &pipeline->encoder);
  });
}

forebay_status forebay_pipeline_add_to_mono(forebay_pipeline* pipeline) {
  return Guard(pipeline != nullptr, [&] {
    wire::AddToMono(&pipeline->encoder);
    return Status();
  });
}

forebay_status forebay_pipeline_add_vol(forebay_pipeline* pipeline, double gain,
                                        forebay_gain_type gain_type) {
  return Guard(pipeline != nullptr, [&] {
    return wire::AddVol(gain, gain_type, &pipeline->encoder);
  });
}

forebay_status forebay_pipeline_add_spectrogram(
    forebay_pipeline* pipeline, const forebay_spectrogram* spectrogram) {
  return Guard(pipeline != nullptr && spectrogram != nullptr, [&] {
    return wire::AddSpectrogram(*spectrogram, &pipeline->encoder);
  });
}

forebay_status forebay_pipeline_add_mel_spectrogram(
    forebay_pipeline* pipeline, const forebay_mel_spectrogram* mel) {
  return Guard(pipeline != nullptr && mel != nullptr, [&] {
    return wire::AddMelSpectrogram(*mel, &pipeline->encoder);
  });
}

forebay_status forebay_pipeline_add_amplitude_to_db(
    forebay_pipeline* pipeline, forebay_amplitude_scale stype,
    const double* top_db) {
  return Guard(pipeline != nullptr, [&] {
    return wire::AddAmplitudeToDb(stype, top_db, &pipeline->encoder);
  });
}

forebay_status forebay_pipeline_add_mfcc(forebay_pipeline* pipeline,
                                         const forebay_mel_spectrogram* mel,
                                         uint32_t n_mfcc, int ortho,
                                         int log_mels) {
  return Guard(pipeline != nullptr && mel != nullptr, [&] {
    return wire::AddMfcc(*mel, n_mfcc, ortho != 0, log_mels != 0,
                         &pipeline->encoder);
  });
}

forebay_status forebay_pipeline_add_time_masking(forebay_pipeline* pipeline,
                                                 uint32_t time_mask_param,
                                                 double p) {
  return Guard(pipeline != nullptr, [&] {
    wire::AddTimeMasking(time_mask_param, p, &pipeline->encoder);
    return Status();
  });
}

forebay_status forebay_pipeline_add_frequency_masking(
    forebay_pipeline* pipeline, uint32_t freq_mask_param) {
  return Guard(pipeline != nullptr, [&] {
    wire::AddFrequencyMasking(freq_mask_param, &pipeline->encoder);
    return Status();
  });
}
