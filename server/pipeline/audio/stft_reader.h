#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_STFT_READER_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_STFT_READER_H_

#include "absl/status/statusor.h"
#include "proto/audio_ops.pb.h"
#include "server/pipeline/audio/mel_scale.h"
#include "server/pipeline/audio/stft.h"

namespace forebay::pipeline::audio {

// Each function checks parameters against the ranges of job.proto, and fills in
// the defaults. INVALID_ARGUMENT says which parameter is wrong and how.
// Thread-safe; never blocks.

// Reads the parameters of a Spectrogram.
absl::StatusOr<StftOptions> ReadStft(const proto::Spectrogram& op);
// Reads the parameters of the bands of a MelSpectrogram. `stft` is what
// ReadStft returned for its spectrogram.
absl::StatusOr<MelOptions> ReadMel(const proto::MelSpectrogram& op,
                                   const StftOptions& stft);

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_STFT_READER_H_
