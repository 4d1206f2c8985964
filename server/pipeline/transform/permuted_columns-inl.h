// Runs the vertical pass by permutations. 64 columns of each row are loaded
// once. A permutation then gives each of 16 positions the pixels of two rows,
// which PairSum multiplies and adds.

#if defined(FOREBAY_PERMUTED_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOREBAY_PERMUTED_COLUMNS_INL_H_
#undef FOREBAY_PERMUTED_COLUMNS_INL_H_
#else
#define FOREBAY_PERMUTED_COLUMNS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "server/pipeline/transform/pair_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace forebay::pipeline::transform {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-namespaces): included once a vector target
namespace {

#if FOREBAY_HAS_PAIR_SUM

// Permutes 16 columns of two rows, from column 16 * kPart on, into 16 lanes.
// The upper row's pixel is a lane's low 16-bit half, the lower row's pixel the
// high half.
template <int kPart>
HWY_INLINE __m512i PairColumns(__m512i upper, __m512i lower) {
  constexpr __mmask64 kHalves = 0x5555555555555555;
  alignas(64) std::uint32_t index[kPairLanes];
  for (std::uint32_t i = 0; i < kPairLanes; ++i)
    index[i] = (64 + 16 * kPart + i) << 16 | (16 * kPart + i);
  return _mm512_maskz_permutex2var_epi8(kHalves, upper,
                                        _mm512_load_si512(index), lower);
}

// The source rows and weights of one output row.
template <int kPairs>
struct ColumnTaps {
  const std::uint8_t* rows[2 * kPairs];
  __m512i high[kPairs];
  __m512i low[kPairs];
};

// Computes 16 columns: columns 16 * kPart to 16 * kPart + 15 of the 64 loaded
// ones.
template <int kPart, int kPairs, bool kClip>
HWY_INLINE __m512i ColumnSum(const ColumnTaps<kPairs>& taps,
                             const __m512i (&pixels)[2 * kPairs]) {
  __m512i pairs[kPairs];
  for (int p = 0; p < kPairs; ++p)
    pairs[p] = PairColumns<kPart>(pixels[2 * p], pixels[2 * p + 1]);
  return PairSum<kPairs, kClip>(pairs, taps.high, taps.low);
}

// Computes columns x to x + 31 or, if kParts is 4, to x + 63.
template <int kParts, int kPairs, bool kClip>
HWY_INLINE void Columns64(const ColumnTaps<kPairs>& taps, std::size_t x,
                          std::uint8_t* out) {
  const __m512i results = ResultIndices<kClip>();
  __m512i pixels[2 * kPairs];
  for (int t = 0; t < 2 * kPairs; ++t)
    pixels[t] = _mm512_load_si512(taps.rows[t] + x);
  const __m256i low = _mm512_castsi512_si256(_mm512_permutex2var_epi8(
      ColumnSum<0, kPairs, kClip>(taps, pixels), results,
      ColumnSum<1, kPairs, kClip>(taps, pixels)));
  _mm256_store_si256(reinterpret_cast<__m256i*>(out + x), low);
  if constexpr (kParts == 4) {
    const __m256i high = _mm512_castsi512_si256(_mm512_permutex2var_epi8(
        ColumnSum<2, kPairs, kClip>(taps, pixels), results,
        ColumnSum<3, kPairs, kClip>(taps, pixels)));
    _mm256_store_si256(reinterpret_cast<__m256i*>(out + x + 32), high);
  }
}

// Computes output row `y` of all three planes. If the number of taps is odd,
// the last pair's second tap reads the first tap's row again, with weight 0.
template <int kPairs, bool kClip>
void PermuteRowsDown(const std::uint8_t* from, std::size_t stride,
                     const Taps& taps, std::int64_t y, std::size_t width,
                     std::uint8_t* out) {
  const std::int32_t* weights = taps.weights + y * taps.count;
  ColumnTaps<kPairs> columns;
  for (std::int32_t p = 0; p < kPairs; ++p) {
    const WeightPair pair = WeightsOf(taps, weights, p);
    columns.high[p] = _mm512_set1_epi32(static_cast<std::int32_t>(pair.high));
    columns.low[p] = _mm512_set1_epi32(static_cast<std::int32_t>(pair.low));
    const auto upper = static_cast<std::size_t>(2 * p);
    const std::size_t lower = 2 * p + 1 < taps.count ? upper + 1 : upper;
    columns.rows[2 * p] = from + upper * stride;
    columns.rows[2 * p + 1] = from + lower * stride;
  }
  const std::size_t pitch = PlanePitch(width);
  for (int c = 0; c < kColors; ++c) {
    const std::size_t begin = static_cast<std::size_t>(c) * pitch;
    std::size_t x = 0;
    for (; x + 32 < width; x += 64)
      Columns64<4, kPairs, kClip>(columns, begin + x, out);
    if (x < width) Columns64<2, kPairs, kClip>(columns, begin + x, out);
  }
}

// Picks the code for the number of pairs and for clipping.
void PermuteDown(const std::uint8_t* from, std::size_t stride, const Taps& taps,
                 std::int64_t y, std::size_t width, std::uint8_t* out) {
  FOREBAY_FOR_PAIRS(PairsOf(taps), taps.clip, PermuteRowsDown, from, stride,
                    taps, y, width, out)
}

#endif  // FOREBAY_HAS_PAIR_SUM

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace forebay::pipeline::transform
HWY_AFTER_NAMESPACE();

#endif  // toggle
