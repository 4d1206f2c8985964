#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_DECIBELS_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_DECIBELS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

struct DecibelOptions {
  bool magnitudes = false;  // else powers
  // How far the least is below the greatest at most.
  std::optional<float> top_db = std::nullopt;
};

// torchaudio's amplitude_to_DB, of all elements of a sample. `out` may be `in`.
// Thread-safe; never blocks; no errors.
void ToDecibels(const DecibelOptions& options, const float* in,
                std::uint64_t count, float* out);

// Natural logarithms of value + 1e-6. As above.
void ToLogs(const float* in, std::uint64_t count, float* out);

// The same as an op.
class AmplitudeToDb final : public Op {
 public:
  AmplitudeToDb(const DecibelOptions& options,
                std::vector<std::uint64_t> frame_shape);

  std::vector<std::uint64_t> frame_shape() const override { return shape_; }
  absl::StatusOr<Signal> OutputOf(const Signal& signal) const override {
    return signal;
  }
  bool in_place() const override { return true; }
  absl::Status Run(const float* in, const Signal& signal,
                   transform::Draws& draws, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const DecibelOptions options_;
  const std::vector<std::uint64_t> shape_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_DECIBELS_H_
