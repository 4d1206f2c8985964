// Transforms an even number of reals as half as many complex numbers. The real
// parts are the reals at even places, and the imaginary parts are the reals at
// odd places. By symmetry, the result is split into the transforms of these two
// halves. Its conjugate-symmetric part comes from the even places, and the
// remaining part from the odd places. The two are then joined as in any radix-2
// step of an FFT. An odd number of reals is transformed as complex numbers,
// with imaginary parts of 0.

#include "server/pipeline/audio/real_fft.h"

#include "server/base/check.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {

RealFft::RealFft(std::uint32_t size) : size_(size) {
  const bool is_even = size % 2 == 0;
  plan_.reset(kiss_fft_alloc(static_cast<int>(is_even ? size / 2 : size),
                             /*inverse_fft=*/0, nullptr, nullptr));
  FOREBAY_CHECK(plan_ != nullptr);
  if (!is_even) return;
  turns_.resize(size / 4 + 1);
  for (std::size_t k = 0; k < turns_.size(); ++k) {
    // The angle is in units of pi.
    const double angle = 2.0 * static_cast<double>(k) / size;
    turns_[k] = {static_cast<float>(transform::ExactCosPi(angle)),
                 static_cast<float>(-transform::ExactSinPi(angle))};
  }
}

void RealFft::Powers(float* work, float scale, float* powers) const {
  auto* const in = reinterpret_cast<kiss_fft_cpx*>(work);
  if (size_ % 2 == 0) {
    kiss_fft_cpx* const out = in + size_ / 2;
    kiss_fft(plan_.get(), in, out);
    return EvenPowers(out, scale, powers);
  }
  // The reals are widened to complex numbers from the end on, since input and
  // output overlap.
  for (std::size_t i = size_; i-- > 0;) in[i] = {work[i], 0};
  kiss_fft_cpx* const out = in + size_;
  kiss_fft(plan_.get(), in, out);
  for (std::size_t k = 0; k < bins(); ++k)
    powers[k] = (out[k].r * out[k].r + out[k].i * out[k].i) * scale;
}

void RealFft::EvenPowers(const kiss_fft_cpx* half, float scale,
                         float* powers) const {
  const std::size_t middle = size_ / 2;
  const float sum = half[0].r + half[0].i;
  const float difference = half[0].r - half[0].i;
  powers[0] = sum * sum * scale;
  powers[middle] = difference * difference * scale;
  // The sums and differences below are twice the values that they stand for, so
  // powers would be four times too large.
  const float quarter = scale * 0.25F;
  for (std::size_t k = 1; k <= middle / 2; ++k) {
    const kiss_fft_cpx a = half[k];
    const kiss_fft_cpx b = half[middle - k];
    const float even_r = a.r + b.r;
    const float even_i = a.i - b.i;
    const float odd_r = a.r - b.r;
    const float odd_i = a.i + b.i;
    const kiss_fft_cpx turn = turns_[k];
    const float turned_r = turn.r * odd_r - turn.i * odd_i;
    const float turned_i = turn.r * odd_i + turn.i * odd_r;
    const float low_r = even_r + turned_i;
    const float low_i = even_i - turned_r;
    const float high_r = even_r - turned_i;
    const float high_i = even_i + turned_r;
    powers[k] = (low_r * low_r + low_i * low_i) * quarter;
    powers[middle - k] = (high_r * high_r + high_i * high_i) * quarter;
  }
}

}  // namespace forebay::pipeline::audio
