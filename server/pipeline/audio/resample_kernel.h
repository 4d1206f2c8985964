#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace forebay::pipeline::audio {

struct ResampleOptions {
  std::uint32_t lowpass_filter_width = 6;  // zero crossings
  double rolloff = 0.99;
  bool kaiser = false;  // the window, else Hann's
  double beta = 14.769656459379492;
};

// The filters that take a clip of one rate to another, with torchaudio's
// numerics: one for each place that a new frame may have between old ones. Only
// their elements within the window are kept. Immutable and thread-safe. Owns
// its table, at most 4 MiB. Does not block. INVALID_ARGUMENT gives the reason
// alone.
class ResampleKernel {
 public:
  // Rates are 1 to 2^24 Hz.
  static absl::StatusOr<std::unique_ptr<const ResampleKernel>> Create(
      std::uint32_t orig_freq, std::uint32_t new_freq,
      const ResampleOptions& options);

  // How many frames a clip of `frames` becomes. INVALID_ARGUMENT: too many.
  absl::StatusOr<std::uint64_t> FramesOf(std::uint64_t frames) const;
  // INVALID_ARGUMENT: so many new frames of each channel take too long.
  absl::Status CheckWork(std::uint64_t frames, std::uint64_t channels) const;
  // The memory that Run needs: the clip lies `before` elements from the begin
  // of a room of `elements`, and all others are 0.
  struct Room {
    std::size_t before = 0;
    std::uint64_t elements = 0;
  };
  Room RoomFor(std::uint64_t frames) const;

  // Writes FramesOf(frames) elements, `stride` apart. `room` is
  // RoomFor(frames).
  void Run(const float* room, std::uint64_t frames, float* out,
           std::size_t stride) const;

  std::size_t table_bytes() const { return weights_.size() * sizeof(float); }

 private:
  ResampleKernel(std::uint64_t orig, std::uint64_t next)
      : orig_(orig), next_(next) {}
  void Fill(const ResampleOptions& options, double base, double reach);

  // The rates without their common divisor.
  const std::uint64_t orig_;
  const std::uint64_t next_;
  std::uint64_t width_ = 0;           // zeros before a clip
  std::size_t taps_ = 0;              // of each filter
  std::vector<std::uint64_t> first_;  // place of each filter's first element
  std::vector<float> weights_;        // of one filter behind the other
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_
