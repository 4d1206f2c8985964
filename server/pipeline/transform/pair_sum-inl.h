// Sums taps for both passes on CPUs with 512-bit vectors and byte permutations
// (Ice Lake, Zen 4 and later). Two taps share a 32-bit lane as 16-bit halves.
// One permutation therefore fetches two taps of 16 positions, and one
// instruction multiplies them by their weights and adds them. A weight has 23
// bits, and is cut into two digits:
//   weight = high * 2^15 + low,  0 <= low < 2^15
// First the products with high digits are summed, and the sum is shifted. Then
// the products with low digits are added. This arithmetic modulo 2^32 is as
// exact as Pillow's.
//
// If all sums lie within 0..255 (Taps::clip is false), weights are multiplied
// by 4. The result is then the top byte of a lane, without a shift.

#if defined(FOREBAY_PAIR_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOREBAY_PAIR_SUM_INL_H_
#undef FOREBAY_PAIR_SUM_INL_H_
#else
#define FOREBAY_PAIR_SUM_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "server/pipeline/transform/taps.h"

#undef FOREBAY_HAS_PAIR_SUM
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
#define FOREBAY_HAS_PAIR_SUM 1
#else
#define FOREBAY_HAS_PAIR_SUM 0
#endif

HWY_BEFORE_NAMESPACE();
namespace forebay::pipeline::transform {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-namespaces): included once a vector target
namespace {

#if FOREBAY_HAS_PAIR_SUM

// The most pairs of taps that this code sums. Other code sums more pairs.
constexpr std::int32_t kMaxPairs = 4;
// Lanes of 32 bits in a vector: positions computed at a time.
constexpr std::size_t kPairLanes = 16;

// Returns the number of pairs; an odd last tap has a pair of its own.
constexpr std::int32_t PairsOf(const Taps& taps) {
  return (taps.count + 1) / 2;
}

// The digits of two taps' weights, the first tap's in the low half of each
// word.
struct WeightPair {
  std::uint32_t high;
  std::uint32_t low;
};

// Returns the digits of taps 2 * pair and 2 * pair + 1. If the last pair has
// only one tap, its second weight is 0.
HWY_INLINE WeightPair WeightsOf(const Taps& taps, const std::int32_t* weights,
                                std::int32_t pair) {
  const std::int32_t scale = taps.clip ? 1 : 4;
  const std::int32_t a = weights[2 * pair] * scale;
  const std::int32_t b =
      2 * pair + 1 < taps.count ? weights[2 * pair + 1] * scale : 0;
  const auto join = [](std::int32_t low, std::int32_t high) {
    return (static_cast<std::uint32_t>(low) & 0xFFFFu) |
           (static_cast<std::uint32_t>(high) << 16);
  };
  return {join(a >> 15, b >> 15), join(a & 0x7FFF, b & 0x7FFF)};
}

// Sums pairs of taps in each lane. Each lane of `pixels` has two pixels as
// 16-bit halves, like the weights.
template <int kPairs, bool kClip>
HWY_INLINE __m512i PairSum(const __m512i (&pixels)[kPairs],
                           const __m512i (&high)[kPairs],
                           const __m512i (&low)[kPairs]) {
  // Adding 2^21 rounds the sum to nearest. 2^21 is a multiple of 2^15, so it
  // can be added before the shift.
  constexpr int kHalf = 1 << (kWeightBits - 1 - 15);
  __m512i sum = _mm512_set1_epi32(kClip ? kHalf : 4 * kHalf);
  for (int p = 0; p < kPairs; ++p)
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pixels[p], high[p]));
  sum = _mm512_slli_epi32(sum, 15);
  for (int p = 0; p < kPairs; ++p)
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pixels[p], low[p]));
  if constexpr (kClip) {
    sum = _mm512_srai_epi32(sum, kWeightBits);
    sum = _mm512_max_epi32(sum, _mm512_setzero_si512());
    sum = _mm512_min_epi32(sum, _mm512_set1_epi32(255));
  }
  return sum;
}

// Number of the byte, in each lane, that holds PairSum's result.
template <bool kClip>
constexpr int kResultByte = kClip ? 0 : 3;

// Returns permutation indices that gather the result bytes of one sum, followed
// by those of a second sum.
template <bool kClip>
HWY_INLINE __m512i ResultIndices() {
  alignas(64) std::uint8_t indices[64] = {};
  for (std::size_t i = 0; i < 32; ++i)
    indices[i] = static_cast<std::uint8_t>(4 * i + kResultByte<kClip>);
  return _mm512_load_si512(indices);
}

// Calls the template `function` with the arguments <pairs, clip>.
#define FOREBAY_FOR_PAIRS(pairs, clip, function, ...) \
  switch (2 * (pairs) + ((clip) ? 1 : 0)) {           \
    case 2:                                           \
      return function<1, false>(__VA_ARGS__);         \
    case 3:                                           \
      return function<1, true>(__VA_ARGS__);          \
    case 4:                                           \
      return function<2, false>(__VA_ARGS__);         \
    case 5:                                           \
      return function<2, true>(__VA_ARGS__);          \
    case 6:                                           \
      return function<3, false>(__VA_ARGS__);         \
    case 7:                                           \
      return function<3, true>(__VA_ARGS__);          \
    case 8:                                           \
      return function<4, false>(__VA_ARGS__);         \
    default:                                          \
      return function<4, true>(__VA_ARGS__);          \
  }

#endif  // FOREBAY_HAS_PAIR_SUM

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace forebay::pipeline::transform
HWY_AFTER_NAMESPACE();

#endif  // toggle
