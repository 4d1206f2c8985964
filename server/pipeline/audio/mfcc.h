#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_MFCC_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_MFCC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/pipeline/audio/op.h"
#include "server/pipeline/audio/spectrogram.h"

namespace forebay::pipeline::audio {

struct MfccOptions {
  std::uint32_t n_mfcc = 40;  // at most as many as there are bands
  bool ortho = true;          // whether the cosine transform is orthonormal
  bool log_mels = false;      // whether it is of logarithms, not of decibels
};

// Mel-frequency cepstral coefficients: the cosine transform of the bands of a
// spectrogram, as decibels down to 80 below the greatest, or as logarithms.
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
                   transform::Draws& draws, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const MfccOptions options_;
  const Spectrogram bands_;
  const std::size_t n_mels_;
  const std::uint64_t channels_;
  std::vector<float> cosines_;  // n_mfcc of each band
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_MFCC_H_
