// Runs the horizontal pass on CPUs where permuted_rows-inl.h does not apply.
//
// Each 128-bit block of a vector works on its own row. For every position, 16
// bytes (five RGB pixels) of each row are loaded. A shuffle spreads each tap's
// pixel to the block's 32-bit lanes: R, G, B and an unused lane. The lanes are
// multiplied by the tap's weight, and added up. The sums of four positions
// share a block: R R R R G G G G B B B B and four unused bytes. A second step
// gathers these blocks ("quads") into planes.

#include "server/pipeline/transform/horizontal.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "server/pipeline/transform/horizontal.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Must follow foreach_target.h.
#include "hwy/highway.h"
#include "server/pipeline/transform/permuted_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace forebay::pipeline::transform {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

// Computes the same sums without vectors.
void AnyRows(const std::uint8_t* rgb, std::size_t stride, std::size_t rows,
             const Taps& taps, std::uint8_t* /*work*/, std::uint8_t* out) {
  const std::size_t pitch = PlanePitch(static_cast<std::size_t>(taps.length));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < kColors * static_cast<std::size_t>(taps.length);
         ++i) {
      const std::size_t x = i / kColors, c = i % kColors;
      const std::uint8_t* from = rgb + row * stride + 3 * taps.start[x] + c;
      const std::int32_t* weights = taps.weights + x * taps.count;
      std::int32_t sum = 1 << (kWeightBits - 1);
      for (std::int32_t t = 0; t < taps.count; ++t)
        sum += from[3 * t] * weights[t];
      const std::int32_t value = sum >> kWeightBits;
      out[(row * kColors + c) * pitch + x] =
          static_cast<std::uint8_t>(std::clamp(value, 0, 255));
    }
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE
constexpr std::size_t kVectorBytes = 16;
#else
constexpr std::size_t kVectorBytes = HWY_MAX_BYTES;
#endif
// Number of rows that one vector works on at a time.
constexpr std::size_t kRows = kVectorBytes / 16;
// Number of whole RGB pixels in a load of 16 bytes.
constexpr int kPixelsPerLoad = 5;

using D8 = hn::FixedTag<std::uint8_t, kVectorBytes>;
using D32 = hn::Repartition<std::int32_t, D8>;
using V8 = hn::Vec<D8>;
using V32 = hn::Vec<D32>;

// Index for which a shuffle writes 0.
constexpr std::uint8_t kNone = 0x80;

// kSpread[t] is the shuffle that spreads pixel t of a block to the block's
// 32-bit lanes.
alignas(16) constexpr std::uint8_t kSpread[kPixelsPerLoad][16] = {
    {0, kNone, kNone, kNone, 1, kNone, kNone, kNone, 2, kNone, kNone, kNone,
     kNone, kNone, kNone, kNone},
    {3, kNone, kNone, kNone, 4, kNone, kNone, kNone, 5, kNone, kNone, kNone,
     kNone, kNone, kNone, kNone},
    {6, kNone, kNone, kNone, 7, kNone, kNone, kNone, 8, kNone, kNone, kNone,
     kNone, kNone, kNone, kNone},
    {9, kNone, kNone, kNone, 10, kNone, kNone, kNone, 11, kNone, kNone, kNone,
     kNone, kNone, kNone, kNone},
    {12, kNone, kNone, kNone, 13, kNone, kNone, kNone, 14, kNone, kNone, kNone,
     kNone, kNone, kNone, kNone},
};

// Loads 16 bytes at the same offset of each row, each into a block of its own.
HWY_INLINE V8 LoadBlocks(const std::uint8_t* const* rows, std::size_t offset) {
  const hn::FixedTag<std::uint8_t, 16> d16;
#if HWY_MAX_BYTES >= 64 && !HWY_HAVE_SCALABLE
  const hn::FixedTag<std::uint8_t, 32> d32;
  return hn::Combine(D8(),
                     hn::Combine(d32, hn::LoadU(d16, rows[3] + offset),
                                 hn::LoadU(d16, rows[2] + offset)),
                     hn::Combine(d32, hn::LoadU(d16, rows[1] + offset),
                                 hn::LoadU(d16, rows[0] + offset)));
#elif HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
  return hn::Combine(D8(), hn::LoadU(d16, rows[1] + offset),
                     hn::LoadU(d16, rows[0] + offset));
#else
  return hn::LoadU(d16, rows[0] + offset);
#endif
}

// Stores each block into its own row.
HWY_INLINE void StoreBlocks(V8 v, std::uint8_t* const* rows,
                            std::size_t offset) {
  const hn::FixedTag<std::uint8_t, 16> d16;
#if HWY_MAX_BYTES >= 64 && !HWY_HAVE_SCALABLE
  const hn::FixedTag<std::uint8_t, 32> d32;
  const auto low = hn::LowerHalf(d32, v);
  const auto high = hn::UpperHalf(d32, v);
  hn::StoreU(hn::LowerHalf(d16, low), d16, rows[0] + offset);
  hn::StoreU(hn::UpperHalf(d16, low), d16, rows[1] + offset);
  hn::StoreU(hn::LowerHalf(d16, high), d16, rows[2] + offset);
  hn::StoreU(hn::UpperHalf(d16, high), d16, rows[3] + offset);
#elif HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
  hn::StoreU(hn::LowerHalf(d16, v), d16, rows[0] + offset);
  hn::StoreU(hn::UpperHalf(d16, v), d16, rows[1] + offset);
#else
  hn::StoreU(v, d16, rows[0] + offset);
#endif
}

// Adds up to five taps of one load to the sum.
template <int kTaps>
HWY_INLINE V32 AddTaps(V8 pixels, const std::int32_t* weights, const V8* spread,
                       V32 sum) {
  const D32 d;
#define FOREBAY_TAP(t)                                              \
  if constexpr (kTaps > t) {                                        \
    const V32 value =                                               \
        hn::BitCast(d, hn::TableLookupBytesOr0(pixels, spread[t])); \
    sum = hn::Add(sum, hn::Mul(value, hn::Set(d, weights[t])));     \
  }
  FOREBAY_TAP(0)
  FOREBAY_TAP(1)
  FOREBAY_TAP(2)
  FOREBAY_TAP(3)
  FOREBAY_TAP(4)
#undef FOREBAY_TAP
  return sum;
}

// Computes one position in all rows. kTaps is the number of taps, or 0 if there
// are more than five.
template <int kTaps>
HWY_INLINE V32 Position(const std::uint8_t* const* rows, const Taps& taps,
                        std::size_t x, const V8* spread) {
  const D32 d;
  const std::int32_t* weights =
      taps.weights + x * static_cast<std::size_t>(taps.count);
  std::size_t offset = 3 * static_cast<std::size_t>(taps.start[x]);
  V32 sum = hn::Set(d, 1 << (kWeightBits - 1));
  if constexpr (kTaps > 0) {
    sum = AddTaps<kTaps>(LoadBlocks(rows, offset), weights, spread, sum);
  } else {
    std::int32_t t = 0;
    for (; t + kPixelsPerLoad <= taps.count; t += kPixelsPerLoad) {
      sum = AddTaps<5>(LoadBlocks(rows, offset), weights + t, spread, sum);
      offset += 3 * kPixelsPerLoad;
    }
    for (; t < taps.count; ++t, offset += 3)
      sum = AddTaps<1>(LoadBlocks(rows, offset), weights + t, spread, sum);
  }
  sum = hn::ShiftRight<kWeightBits>(sum);
  if (taps.clip) sum = hn::Min(hn::Max(sum, hn::Zero(d)), hn::Set(d, 255));
  return sum;
}

// Writes quads: for every four positions, 4 bytes of R, 4 of G, 4 of B and 4
// unused bytes. The last position is repeated to fill the last quad.
template <int kTaps>
HWY_INLINE void Quads(const std::uint8_t* const* rows, const Taps& taps,
                      std::uint8_t* const* out) {
  const D8 d8;
  V8 spread[kPixelsPerLoad];
  for (int t = 0; t < kPixelsPerLoad; ++t)
    spread[t] = hn::LoadDup128(d8, kSpread[t]);
  const auto length = static_cast<std::size_t>(taps.length);
  const std::size_t last = length - 1;
  for (std::size_t x = 0; x < length; x += 4) {
    const V32 p0 = Position<kTaps>(rows, taps, x, spread);
    const V32 p1 =
        Position<kTaps>(rows, taps, x + 1 < length ? x + 1 : last, spread);
    const V32 p2 =
        Position<kTaps>(rows, taps, x + 2 < length ? x + 2 : last, spread);
    const V32 p3 =
        Position<kTaps>(rows, taps, x + 3 < length ? x + 3 : last, spread);
    const V32 low = hn::Or(p0, hn::ShiftLeft<8>(p1));
    const V32 high = hn::Or(hn::ShiftLeft<16>(p2), hn::ShiftLeft<24>(p3));
    StoreBlocks(hn::BitCast(d8, hn::Or(low, high)), out, x * 4);
  }
}

// Gathers the quads of one row into its three planes, in whole pitches.
HWY_INLINE void Planes(const std::uint8_t* HWY_RESTRICT quads,
                       std::size_t pitch, std::uint8_t* HWY_RESTRICT out) {
  const hn::FixedTag<std::uint32_t, kVectorBytes / 4> d;
  const auto* from = reinterpret_cast<const std::uint32_t*>(quads);
  auto* to = reinterpret_cast<std::uint32_t*>(out);
  const std::size_t words = pitch / 4;
  for (std::size_t i = 0; i < words; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> r, g, b, unused;
    hn::LoadInterleaved4(d, from + 4 * i, r, g, b, unused);
    hn::StoreU(r, d, to + i);
    hn::StoreU(g, d, to + words + i);
    hn::StoreU(b, d, to + 2 * words + i);
  }
}

// Picks the code for the number of taps.
void QuadsOfRows(const std::uint8_t* const* rows, const Taps& taps,
                 std::uint8_t* const* out) {
  switch (taps.count) {
    case 1:
      return Quads<1>(rows, taps, out);
    case 2:
      return Quads<2>(rows, taps, out);
    case 3:
      return Quads<3>(rows, taps, out);
    case 4:
      return Quads<4>(rows, taps, out);
    case 5:
      return Quads<5>(rows, taps, out);
    default:
      return Quads<0>(rows, taps, out);
  }
}

// Resamples rows in groups of kRows. If the last group is not full, it repeats
// the last row.
void AnyRows(const std::uint8_t* rgb, std::size_t stride, std::size_t rows,
             const Taps& taps, std::uint8_t* work, std::uint8_t* out) {
  const std::size_t pitch = PlanePitch(static_cast<std::size_t>(taps.length));
  std::uint8_t* quads[kRows];
  for (std::size_t i = 0; i < kRows; ++i) quads[i] = work + i * pitch * 4;
  for (std::size_t row = 0; row < rows; row += kRows) {
    const std::uint8_t* group[kRows];
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t at = row + i < rows ? row + i : rows - 1;
      group[i] = rgb + at * stride;
    }
    QuadsOfRows(group, taps, quads);
    for (std::size_t i = 0; i < kRows && row + i < rows; ++i)
      Planes(quads[i], pitch, out + (row + i) * kColors * pitch);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

RowPlan PlanRowsHere(const Taps& taps, std::uint8_t* work) {
  RowPlan plan{&taps, work, false};
#if FOREBAY_HAS_PAIR_SUM
  plan.permuted = MakeBlockTables(taps, reinterpret_cast<BlockTable*>(work));
#endif
  return plan;
}

void ResampleRowsHere(const RowPlan& plan, const std::uint8_t* rgb,
                      std::size_t stride, std::size_t rows, std::uint8_t* out) {
#if FOREBAY_HAS_PAIR_SUM
  if (plan.permuted) {
    const auto* tables = reinterpret_cast<const BlockTable*>(plan.work);
    return PermuteRows(*plan.taps, tables, rgb, stride, rows, out);
  }
#endif
  AnyRows(rgb, stride, rows, *plan.taps, plan.work, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace forebay::pipeline::transform
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forebay::pipeline::transform {

HWY_EXPORT(PlanRowsHere);
HWY_EXPORT(ResampleRowsHere);

RowPlan PlanRows(const Taps& taps, std::uint8_t* work) {
  return HWY_DYNAMIC_DISPATCH(PlanRowsHere)(taps, work);
}

void ResampleRows(const RowPlan& plan, const std::uint8_t* rgb,
                  std::size_t stride, std::size_t rows, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ResampleRowsHere)(plan, rgb, stride, rows, out);
}

}  // namespace forebay::pipeline::transform
#endif  // HWY_ONCE
