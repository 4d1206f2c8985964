#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_MFCC_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_MFCC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/pipeline/audio/op.h"
#include "server/pipeline/audio/spectrogram.h"

namespace forebay::pipeline::audio {

// The parameters of torchaudio's MFCC.
struct MfccOptions {
  // Number of coefficients; at most the number of bands.
  std::uint32_t n_mfcc = 40;
  // Whether the cosine transform is orthonormal.
  bool ortho = true;
  // Whether bands are converted to natural logarithms; if not, to decibels.
  bool log_mels = false;
};

// Computes mel-frequency cepstral coefficients: the cosine transform of a mel
// spectrogram's bands. The bands are first converted to decibels or natural
// logarithms. Bands more than 80 decibels below the sample's greatest band are
// raised to that bound. Threads, ownership, blocking and errors are as Op says.
class Mfcc final : public Op {
 public:
  Mfcc(const StftOptions& stft, const MelOptions& mel,
       const MfccOptions& options,
       const std::vector<std::uint64_t>& clip_shape);

  std::vector<std::uint64_t> frame_shape() const override;
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override {
    return bands_.OutputOf(signal);
  }
  absl::StatusOr<Signal> LongestOf(const Signal& signal) const override {
    return bands_.LongestOf(signal);
  }
  absl::Status Run(const float* in, const Signal& signal,
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const MfccOptions options_;
  const Spectrogram bands_;
  const std::size_t n_mels_;
  const std::uint64_t channels_;
  // Weight of each band in each coefficient: n_mfcc numbers for each band.
  std::vector<float> cosines_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_MFCC_H_
