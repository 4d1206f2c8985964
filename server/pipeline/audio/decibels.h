#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_DECIBELS_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_DECIBELS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// The parameters of torchaudio's AmplitudeToDB.
struct DecibelOptions {
  // Whether elements are magnitudes, not powers.
  bool magnitudes = false;
  // The most decibels by which an element may lie below the sample's greatest
  // element. Lower elements are raised to this bound.
  std::optional<float> top_db = std::nullopt;
};

// Converts `count` elements of one sample as torchaudio's amplitude_to_DB does.
// `out` may be `in`. Thread-safe; never blocks; no errors.
void ToDecibels(const DecibelOptions& options, const float* in,
                std::uint64_t count, float* out);

// Writes the natural logarithm of each value + 1e-6. `out` may be `in`.
// Thread-safe; never blocks; no errors.
void ToLogs(const float* in, std::uint64_t count, float* out);

// The op that applies ToDecibels to a sample's array. Threads, ownership,
// blocking and errors are as Op says.
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
                   const transform::Drawn& drawn, transform::Scratch& scratch,
                   float* out) const override;

 private:
  const DecibelOptions options_;
  const std::vector<std::uint64_t> shape_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_DECIBELS_H_
