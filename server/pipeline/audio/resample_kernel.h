#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/audio/op.h"

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
  // The old frames that Run looks at. Those before the clip and behind it are
  // 0.
  struct Room {
    std::int64_t begin = 0;  // may lie before the clip
    std::uint64_t length = 0;
  };
  // `part` has at least one of the new frames.
  Room RoomFor(const FrameRange& part) const;

  // Writes the new frames of `part`, `stride` apart. `room` is RoomFor(part).
  void Run(const float* room, const FrameRange& part, float* out,
           std::size_t stride) const;

  std::size_t table_bytes() const { return weights_.size() * sizeof(float); }

 private:
  ResampleKernel(std::uint64_t orig, std::uint64_t next)
      : orig_(orig), next_(next) {}
  void Fill(const ResampleOptions& options, double base, double reach);
  // The place of the first old frame that new frame number `n` looks at. It is
  // never before that of the frame before it.
  std::uint64_t FirstOf(std::uint64_t n) const {
    return n / next_ * orig_ + first_[n % next_];
  }

  // The rates without their common divisor.
  const std::uint64_t orig_;
  const std::uint64_t next_;
  std::uint64_t width_ = 0;           // how far places begin before a clip
  std::size_t taps_ = 0;              // of each filter
  std::vector<std::uint64_t> first_;  // place of each filter's first element
  std::vector<float> weights_;        // of one filter behind the other
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_
