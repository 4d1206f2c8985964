#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_STFT_READER_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_STFT_READER_H_

#include "absl/status/statusor.h"
#include "proto/audio_ops.pb.h"
#include "server/pipeline/audio/mel_scale.h"
#include "server/pipeline/audio/stft.h"

namespace forebay::pipeline::audio {

// Each function checks parameters against the ranges of job.proto, and fills in
// the defaults. INVALID_ARGUMENT says which one is wrong and how. Thread-safe;
// never blocks.

absl::StatusOr<StftOptions> ReadStft(const proto::Spectrogram& op);
// Of the bands; those of its spectrogram are ReadStft's.
absl::StatusOr<MelOptions> ReadMel(const proto::MelSpectrogram& op,
                                   const StftOptions& stft);

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_STFT_READER_H_
