#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_SPECTROGRAM_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_SPECTROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/pipeline/audio/mel_scale.h"
#include "server/pipeline/audio/op.h"
#include "server/pipeline/audio/stft.h"

namespace forebay::pipeline::audio {

// Computes a clip's spectrum at each time, or the spectrum's mel bands. An
// array (frames) becomes (times, bins), and (frames, channels) becomes (times,
// channels, bins). Threads, ownership, blocking and errors are as Op says.
class Spectrogram final : public Op {
 public:
  // Makes the op. Without `mel`, it computes spectra. `clip_shape` is the shape
  // of a clip's frame: empty, or the number of channels.
  Spectrogram(const StftOptions& options, std::optional<MelScale> mel,
              std::vector<std::uint64_t> clip_shape);

  std::vector<std::uint64_t> frame_shape() const override;
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override;
  absl::StatusOr<Signal> LongestOf(const Signal& signal) const override;
  absl::Status Run(const float* in, const Signal& signal,
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;

 private:
  std::uint64_t channels() const {
    return clip_shape_.empty() ? 1 : clip_shape_.front();
  }
  // Returns how many bins, or bands, one time of one channel has.
  std::size_t row_elements() const {
    return mel_.has_value() ? mel_->bands() : stft_.bins();
  }

  const Stft stft_;
  const std::optional<MelScale> mel_;
  const std::vector<std::uint64_t> clip_shape_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_SPECTROGRAM_H_
