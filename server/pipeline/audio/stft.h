#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_STFT_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_STFT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/audio/real_fft.h"
#include "server/pipeline/audio/window_function.h"

namespace forebay::pipeline::audio {

// The parameters of torchaudio's Spectrogram. Lengths are in samples.
struct StftOptions {
  // How powers are scaled: not at all, by the window's energy, or by n_fft.
  enum class Scaling { kNone, kByWindow, kByFrameLength };

  std::uint32_t n_fft = 400;
  std::uint32_t win_length = 400;
  std::uint32_t hop_length = 200;
  // Zeros added at each end of the clip.
  std::uint32_t pad = 0;
  WindowFunction window = WindowFunction::kHann;
  Scaling scaling = Scaling::kNone;
  // Whether time t is centered at sample t * hop_length.
  bool center = true;
  // Whether a centered clip is reflected at both ends; if not, zeros are added.
  bool reflects = true;
  // Whether outputs are powers; if not, they are magnitudes.
  bool squared = true;
};

// A single channel of a clip whose channels are interleaved.
struct StftChannel {
  // The channel's sample in the clip's first frame.
  const float* first = nullptr;
  std::uint64_t frames = 0;
  // Floats from one frame to the next.
  std::size_t stride = 1;
};

// The short-time Fourier transform with torch.stft's arithmetic. Immutable and
// thread-safe. Owns its tables; borrows clips for each call. Never blocks. An
// error's message has only the reason, without the op's name.
class Stft {
 public:
  // Makes the tables. The options are within the ranges of job.proto.
  explicit Stft(const StftOptions& options);

  // Returns the number of frequencies of each time.
  std::size_t bins() const { return fft_.bins(); }
  // Returns the floats that Row needs as working memory.
  std::size_t work_elements() const { return fft_.work_elements(); }

  // Returns the number of times of a clip of `frames` frames. INVALID_ARGUMENT:
  // the number is 0, or the clip is too short to be reflected.
  absl::StatusOr<std::uint64_t> TimesOf(std::uint64_t frames) const;
  // Checks how long it takes to transform each channel at `times` points in
  // time. INVALID_ARGUMENT: that is too long.
  absl::Status CheckWork(std::uint64_t times, std::uint64_t channels) const;

  // Computes the bins of `channel` at point `time`, which counts hops and is
  // less than TimesOf(channel.frames). `work` has room for work_elements()
  // floats.
  void Row(const StftChannel& channel, std::uint64_t time, float* work,
           float* bins) const;

 private:
  // Returns the sample at a place. Places count from the clip's first frame; a
  // place outside of the clip reads as reflected, or as 0.
  float At(const StftChannel& channel, std::int64_t place) const;

  const StftOptions options_;
  const RealFft fft_;
  const std::vector<float> window_;
  // Number of zeros before the window, which lies in the middle of n_fft
  // samples.
  const std::uint32_t left_;
  // Factor by which powers are multiplied.
  float scale_ = 1;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_STFT_H_
