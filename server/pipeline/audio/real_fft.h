#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_REAL_FFT_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_REAL_FFT_H_

#include <kissfft/kiss_fft.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace forebay::pipeline::audio {

// The Fourier transform of `size` real numbers. Immutable and thread-safe. Owns
// its tables. Does not block. No errors. Where `size` has prime factors above
// 5, KISS FFT allocates some memory for each transform.
class RealFft {
 public:
  // `size` is 2 to 65536.
  explicit RealFft(std::uint32_t size);

  std::size_t bins() const { return size_ / 2 + 1; }
  // How many elements Powers needs as room to work in.
  std::size_t work_elements() const { return std::size_t{4} * size_ + 4; }

  // Writes `scale` times the squared magnitude of each of bins(). `work` begins
  // with the numbers, and is overwritten.
  void Powers(float* work, float scale, float* powers) const;

 private:
  struct Free {
    void operator()(kiss_fft_state* plan) const { kiss_fft_free(plan); }
  };

  void EvenPowers(const kiss_fft_cpx* half, float scale, float* powers) const;

  const std::uint32_t size_;
  std::unique_ptr<kiss_fft_state, Free> plan_;
  // exp(-2 pi i k / size), of even sizes.
  std::vector<kiss_fft_cpx> turns_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_REAL_FFT_H_
