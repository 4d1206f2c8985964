// Runs the horizontal pass by permutations, 16 positions (a block) at a time. A
// block needs at most 128 bytes of a row, which are loaded once. One
// permutation for each color and pair of taps then gives each position its
// pixels. A block's table serves all rows of a strip.

#if defined(FOREBAY_PERMUTED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOREBAY_PERMUTED_ROWS_INL_H_
#undef FOREBAY_PERMUTED_ROWS_INL_H_
#else
#define FOREBAY_PERMUTED_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "server/pipeline/transform/horizontal.h"
#include "server/pipeline/transform/pair_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace forebay::pipeline::transform {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-namespaces): included once a vector target
namespace {

#if FOREBAY_HAS_PAIR_SUM

// The table of one block of positions.
struct alignas(64) BlockTable {
  // Offset of each position's first tap within the 128 loaded bytes.
  std::uint32_t first[kPairLanes];
  // Digits of the weights of each pair of taps, for each position.
  std::uint32_t high[kMaxPairs][kPairLanes];
  std::uint32_t low[kMaxPairs][kPairLanes];
  // Offset in the row of the 128 loaded bytes.
  std::int32_t offset;
};
static_assert(sizeof(BlockTable) <= kRowBlockBytes);

// Fills tables for all blocks. Returns false if a block needs more than 128
// bytes of a row, or too many taps.
bool MakeBlockTables(const Taps& taps, BlockTable* tables) {
  const auto length = static_cast<std::size_t>(taps.length);
  const auto used = static_cast<std::int32_t>(taps.end - taps.first);
  // Loads may end at most 64 bytes behind the last used pixel.
  const std::int32_t last_offset = 3 * used + 64 - 128;
  if (PairsOf(taps) > kMaxPairs || last_offset < 0) return false;
  for (std::size_t x = 0; x < length; x += kPairLanes, ++tables) {
    const std::size_t count = std::min(kPairLanes, length - x);
    const auto [least, most] =
        std::minmax_element(taps.start + x, taps.start + x + count);
    const std::int32_t offset = std::min(3 * *least, last_offset);
    if (3 * (*most + taps.count) - offset > 128) return false;
    tables->offset = offset;
    for (std::size_t i = 0; i < kPairLanes; ++i) {
      const std::size_t at = std::min(x + i, length - 1);
      tables->first[i] =
          static_cast<std::uint32_t>(3 * taps.start[at] - offset);
      const std::int32_t* weights =
          taps.weights + at * static_cast<std::size_t>(taps.count);
      for (std::int32_t p = 0; p < PairsOf(taps); ++p) {
        const WeightPair pair = WeightsOf(taps, weights, p);
        tables->high[p][i] = pair.high;
        tables->low[p][i] = pair.low;
      }
    }
  }
  return true;
}

// Computes one block of positions in `rows` rows, which lie `stride` bytes
// apart.
template <int kPairs, bool kClip>
HWY_INLINE void BlockOfRows(const BlockTable& table, const std::uint8_t* from,
                            std::size_t stride, std::size_t rows,
                            std::size_t pitch, std::uint8_t* out) {
  constexpr __mmask64 kHalves = 0x5555555555555555;
  __m512i index[kColors][kPairs], high[kPairs], low[kPairs];
  const __m512i first = _mm512_load_si512(table.first);
  for (int p = 0; p < kPairs; ++p) {
    high[p] = _mm512_load_si512(table.high[p]);
    low[p] = _mm512_load_si512(table.low[p]);
    for (int c = 0; c < kColors; ++c) {
      // A pair's second pixel lies 3 bytes behind its first.
      index[c][p] =
          _mm512_add_epi32(_mm512_or_si512(first, _mm512_slli_epi32(first, 16)),
                           _mm512_set1_epi32((6 * p + c) * 0x10001 + 0x30000));
    }
  }
  const __m512i results = ResultIndices<kClip>();
  for (std::size_t row = 0; row < rows; ++row) {
    const __m512i a = _mm512_loadu_si512(from);
    const __m512i b = _mm512_loadu_si512(from + 64);
    __m512i sum[kColors];
    for (int c = 0; c < kColors; ++c) {
      __m512i pixels[kPairs];
      for (int p = 0; p < kPairs; ++p)
        pixels[p] = _mm512_maskz_permutex2var_epi8(kHalves, a, index[c][p], b);
      sum[c] = PairSum<kPairs, kClip>(pixels, high, low);
    }
    const __m256i two = _mm512_castsi512_si256(
        _mm512_permutex2var_epi8(sum[0], results, sum[1]));
    const __m128i third =
        _mm512_castsi512_si128(_mm512_permutexvar_epi8(results, sum[2]));
    const auto store = [&](std::size_t c, __m128i v) HWY_ATTR {
      _mm_store_si128(reinterpret_cast<__m128i*>(out + c * pitch), v);
    };
    store(0, _mm256_castsi256_si128(two));
    store(1, _mm256_extracti128_si256(two, 1));
    store(2, third);
    from += stride;
    out += kColors * pitch;
  }
}

// Computes all blocks, each in all rows of the strip.
template <int kPairs, bool kClip>
void Blocks(const Taps& taps, const BlockTable* tables, const std::uint8_t* rgb,
            std::size_t stride, std::size_t rows, std::uint8_t* out) {
  const auto length = static_cast<std::size_t>(taps.length);
  for (std::size_t x = 0; x < length; x += kPairLanes, ++tables) {
    BlockOfRows<kPairs, kClip>(*tables, rgb + tables->offset, stride, rows,
                               PlanePitch(length), out + x);
  }
}

// Picks the code for the number of pairs and for clipping.
void PermuteRows(const Taps& taps, const BlockTable* tables,
                 const std::uint8_t* rgb, std::size_t stride, std::size_t rows,
                 std::uint8_t* out) {
  FOREBAY_FOR_PAIRS(PairsOf(taps), taps.clip, Blocks, taps, tables, rgb, stride,
                    rows, out)
}

#endif  // FOREBAY_HAS_PAIR_SUM

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace forebay::pipeline::transform
HWY_AFTER_NAMESPACE();

#endif  // toggle
