#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_REAL_FFT_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_REAL_FFT_H_

#include <kissfft/kiss_fft.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace forebay::pipeline::audio {

// The Fourier transform of `size` real numbers, by KISS FFT. Immutable and
// thread-safe. Owns its tables. Never blocks, but allocates memory for each
// transform if `size` has prime factors above 5. No errors.
class RealFft {
 public:
  // Makes the tables; `size` is 2 to 65,536.
  explicit RealFft(std::uint32_t size);

  // Returns the number of frequencies, 0 to half the sample rate.
  std::size_t bins() const { return size_ / 2 + 1; }
  // Returns the floats that Powers needs as working memory.
  std::size_t work_elements() const { return std::size_t{4} * size_ + 4; }

  // Transforms the numbers at the start of `work`. Writes the squared magnitude
  // of each frequency's coefficient, times `scale`, to `powers`. Overwrites
  // `work`.
  void Powers(float* work, float scale, float* powers) const;

 private:
  struct Free {
    void operator()(kiss_fft_state* plan) const { kiss_fft_free(plan); }
  };

  // Computes the powers if `size_` is even. `half` is the transform of `size_`
  // / 2 complex numbers, as real_fft.cc explains.
  void EvenPowers(const kiss_fft_cpx* half, float scale, float* powers) const;

  const std::uint32_t size_;
  std::unique_ptr<kiss_fft_state, Free> plan_;
  // The factors exp(-2 pi i k / size), for k from 0 to size / 4; used if
  // `size_` is even.
  std::vector<kiss_fft_cpx> turns_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_REAL_FFT_H_
