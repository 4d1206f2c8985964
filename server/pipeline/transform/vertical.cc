// Runs the vertical pass. Each output row is a weighted sum of intermediate
// rows, of all three planes at once. Where pair_sum-inl.h applies,
// permuted_columns-inl.h does the work. The code here is for other CPUs, or for
// more taps.

#include "server/pipeline/transform/vertical.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "server/pipeline/transform/vertical.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Must follow foreach_target.h.
#include "hwy/highway.h"
#include "server/pipeline/transform/permuted_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace forebay::pipeline::transform {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<std::int32_t, kPlaneUnit / 4>;
using V32 = hn::Vec<D32>;

// Computes `bytes` columns of one output row. Computes four vectors at a time,
// so that sums stay in registers. kTaps is the number of taps, or 0 for any
// number.
template <int kTaps>
HWY_INLINE void Columns(const std::uint8_t* HWY_RESTRICT from,
                        std::size_t stride, const std::int32_t* weights,
                        std::int32_t count, std::size_t bytes,
                        std::uint8_t* HWY_RESTRICT out) {
  const D32 d;
  const hn::Rebind<std::uint8_t, D32> d8;
  const std::size_t n = hn::Lanes(d);
  const std::int32_t taps = kTaps > 0 ? kTaps : count;
  const V32 half = hn::Set(d, 1 << (kWeightBits - 1));
  for (std::size_t x = 0; x < bytes; x += 4 * n) {
    V32 s0 = half, s1 = half, s2 = half, s3 = half;
    const std::uint8_t* row = from + x;
    for (std::int32_t t = 0; t < taps; ++t, row += stride) {
      const V32 w = hn::Set(d, weights[t]);
      const auto load = [&](std::size_t i) HWY_ATTR {
        return hn::Mul(hn::PromoteTo(d, hn::LoadU(d8, row + i * n)), w);
      };
      s0 = hn::Add(s0, load(0));
      s1 = hn::Add(s1, load(1));
      s2 = hn::Add(s2, load(2));
      s3 = hn::Add(s3, load(3));
    }
    const auto store = [&](V32 sum, std::size_t i) HWY_ATTR {
      // DemoteTo saturates to 0..255.
      hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<kWeightBits>(sum)), d8,
                 out + x + i * n);
    };
    store(s0, 0);
    store(s1, 1);
    store(s2, 2);
    store(s3, 3);
  }
}

// Picks the code for the number of taps.
void ColumnsHere(const std::uint8_t* from, std::size_t stride, const Taps& taps,
                 std::int64_t y, std::size_t width, std::uint8_t* out) {
#if FOREBAY_HAS_PAIR_SUM
  if (PairsOf(taps) <= kMaxPairs)
    return PermuteDown(from, stride, taps, y, width, out);
#endif
  const std::int32_t* weights = taps.weights + y * taps.count;
  const std::size_t bytes = kColors * PlanePitch(width);
  switch (taps.count) {
    case 2:
      return Columns<2>(from, stride, weights, taps.count, bytes, out);
    case 3:
      return Columns<3>(from, stride, weights, taps.count, bytes, out);
    case 4:
      return Columns<4>(from, stride, weights, taps.count, bytes, out);
    default:
      return Columns<0>(from, stride, weights, taps.count, bytes, out);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace forebay::pipeline::transform
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forebay::pipeline::transform {

HWY_EXPORT(ColumnsHere);

void ResampleColumns(const std::uint8_t* first, std::size_t stride,
                     const Taps& taps, std::int64_t y, std::size_t width,
                     std::uint8_t* out) {
  const std::uint8_t* from =
      first + static_cast<std::size_t>(taps.start[y]) * stride;
  // A single tap has weight 2^22, so it is a copy.
  if (taps.count == 1) {
    std::memcpy(out, from, kColors * PlanePitch(width));
    return;
  }
  HWY_DYNAMIC_DISPATCH(ColumnsHere)(from, stride, taps, y, width, out);
}

}  // namespace forebay::pipeline::transform
#endif  // HWY_ONCE
