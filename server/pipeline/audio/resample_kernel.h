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

// The parameters of torchaudio's Resample.
struct ResampleOptions {
  // Zero crossings of the filter on each side.
  std::uint32_t lowpass_filter_width = 6;
  // Cutoff frequency as a part of the lower rate's Nyquist frequency.
  double rolloff = 0.99;
  // Whether the window is Kaiser's; if not, it is Hann's.
  bool kaiser = false;
  // Shape of Kaiser's window.
  double beta = 14.769656459379492;
};

// The filters that take a clip from one rate to another, with torchaudio's
// arithmetic. A new frame may lie at several places between two old frames;
// each such place has a filter. Only elements within the window are stored.
//
// Immutable and thread-safe. Owns its table, of at most 4 MiB. Never blocks. An
// error's message has only the reason, without the op's name.
class ResampleKernel {
 public:
  // Makes the filters between two rates of 1 to 2^24 Hz. INVALID_ARGUMENT: the
  // table would be too large.
  static absl::StatusOr<std::unique_ptr<const ResampleKernel>> Create(
      std::uint32_t orig_freq, std::uint32_t new_freq,
      const ResampleOptions& options);

  // Returns how many frames a clip of `frames` frames has behind resampling.
  // INVALID_ARGUMENT: more than kMaxFrames.
  absl::StatusOr<std::uint64_t> FramesOf(std::uint64_t frames) const;
  // Checks the time that `frames` new frames of each channel would take.
  // INVALID_ARGUMENT: that is too long.
  absl::Status CheckWork(std::uint64_t frames, std::uint64_t channels) const;
  // A range of old frames that Run looks at. Frames before and behind the clip
  // are 0.
  struct Room {
    // First old frame; negative if it lies before the clip.
    std::int64_t begin = 0;
    std::uint64_t length = 0;
  };
  // Returns the old frames from which the new frames `part` are made. `part`
  // must not be empty.
  Room RoomFor(const FrameRange& part) const;

  // Writes the new frames `part` of one channel to `out`, `stride` floats
  // apart. `room` has the old frames RoomFor(part) of that channel.
  void Run(const float* room, const FrameRange& part, float* out,
           std::size_t stride) const;

  std::size_t table_bytes() const { return weights_.size() * sizeof(float); }

 private:
  ResampleKernel(std::uint64_t orig, std::uint64_t next)
      : orig_(orig), next_(next) {}
  // Computes the filters' elements. `base` is the cutoff frequency. `reach` is
  // how many old frames a filter covers on each side of its middle.
  void Fill(const ResampleOptions& options, double base, double reach);
  // Returns the place of the first old frame from which new frame number `n` is
  // made. A larger n never has a smaller place.
  std::uint64_t FirstOf(std::uint64_t n) const {
    return n / next_ * orig_ + first_[n % next_];
  }

  // The original and the new rate, divided by their greatest common divisor.
  const std::uint64_t orig_;
  const std::uint64_t next_;
  // Place 0 lies this many old frames before the clip.
  std::uint64_t width_ = 0;
  // Elements of each filter.
  std::size_t taps_ = 0;
  // Place of each filter's first element in the first round of filters.
  std::vector<std::uint64_t> first_;
  // Elements, one filter behind the other.
  std::vector<float> weights_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_RESAMPLE_KERNEL_H_
