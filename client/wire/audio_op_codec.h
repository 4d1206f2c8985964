#ifndef FOREBAY_CLIENT_WIRE_AUDIO_OP_CODEC_H_
#define FOREBAY_CLIENT_WIRE_AUDIO_OP_CODEC_H_

#include "client/base/status.h"
#include "client/forebay.h"
#include "client/wire/pipeline_codec.h"

namespace forebay::client::wire {

// Each function adds an op of audio to a pipeline. INVALID_ARGUMENT: a value is
// not one of its enumeration's. The daemon checks everything else when a loader
// is opened. A pipeline belongs to one thread at a time. Nothing blocks.

Status AddResample(const forebay_resampling& resampling,
                   PipelineEncoder* pipeline);
void AddToMono(PipelineEncoder* pipeline);
Status AddVol(double gain, forebay_gain_type gain_type,
              PipelineEncoder* pipeline);
Status AddSpectrogram(const forebay_spectrogram& spectrogram,
                      PipelineEncoder* pipeline);
Status AddMelSpectrogram(const forebay_mel_spectrogram& mel,
                         PipelineEncoder* pipeline);
// Adds the conversion to decibels. `top_db`: null for no bound.
Status AddAmplitudeToDb(forebay_amplitude_scale stype, const double* top_db,
                        PipelineEncoder* pipeline);
Status AddMfcc(const forebay_mel_spectrogram& mel, uint32_t n_mfcc, bool ortho,
               bool log_mels, PipelineEncoder* pipeline);
void AddTimeMasking(uint32_t time_mask_param, double p,
                    PipelineEncoder* pipeline);
void AddFrequencyMasking(uint32_t freq_mask_param, PipelineEncoder* pipeline);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_AUDIO_OP_CODEC_H_
