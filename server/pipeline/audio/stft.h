#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_STFT_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_STFT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/audio/real_fft.h"
#include "server/pipeline/audio/window.h"

namespace forebay::pipeline::audio {

struct StftOptions {
  enum class Scaling { kNone, kByWindow, kByFrameLength };

  std::uint32_t n_fft = 400;
  std::uint32_t win_length = 400;
  std::uint32_t hop_length = 200;
  std::uint32_t pad = 0;  // zeros at each end of the clip
  Window window = Window::kHann;
  Scaling scaling = Scaling::kNone;
  bool center = true;
  bool reflects = true;  // at both ends, if `center`; else zeros are there
  bool squared = true;   // power, else magnitude
};

// A channel of a clip of interleaved ones.
struct Channel {
  const float* first = nullptr;  // of the clip's first frame
  std::uint64_t frames = 0;
  std::size_t stride = 1;  // elements from frame to frame
};

// The short-time Fourier transform with torch.stft's numerics. Immutable and
// thread-safe. Owns its tables. Does not block. INVALID_ARGUMENT gives the
// reason alone.
class Stft {
 public:
  // The options are as job.proto bounds them.
  explicit Stft(const StftOptions& options);

  // How many elements a time has.
  std::size_t bins() const { return fft_.bins(); }
  // How many elements Row needs as room to work in.
  std::size_t work_elements() const { return fft_.work_elements(); }

  // How many times a clip of so many frames has. INVALID_ARGUMENT: none,
  // or it is too short to be reflected.
  absl::StatusOr<std::uint64_t> TimesOf(std::uint64_t frames) const;
  // INVALID_ARGUMENT: so many times of each channel take too long.
  absl::Status CheckWork(std::uint64_t times, std::uint64_t channels) const;

  // Fills the bins of one time.
  void Row(const Channel& channel, std::uint64_t time, float* work,
           float* bins) const;

 private:
  // The sample at a place that counts from the clip's first frame and may lie
  // outside of the clip.
  float At(const Channel& channel, std::int64_t place) const;

  const StftOptions options_;
  const RealFft fft_;
  const std::vector<float> window_;
  const std::uint32_t left_;  // of the window, in n_fft
  float scale_ = 1;           // of powers
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_STFT_H_
