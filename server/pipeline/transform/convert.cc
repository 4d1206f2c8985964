// Converts pixels by a formula where that gives exact results, and elsewhere by
// a table.
//
// A table lookup for each pixel is right for every op, but it takes a gather
// instruction. Most tables equal (v / divisor - mean) / std, which vector
// instructions compute faster. MakeValueTable has tried this formula on all 256
// values, with division and with fused multiply-add. It sets has_formula only
// if all bits agree, so bytes never depend on the CPU.
//
// The first part of the file is compiled once for each vector target of
// Highway.

#include "server/pipeline/transform/convert.h"

#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "server/pipeline/transform/convert.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Must follow foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace forebay::pipeline::transform {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using D32 = hn::Rebind<std::int32_t, DF>;
using DU32 = hn::Rebind<std::uint32_t, DF>;
using VF = hn::Vec<DF>;

// Whether the CPU can round float32 to float16. CPUs that cannot use the table.
constexpr bool kHasHalf = HWY_TARGET != HWY_EMU128 &&
                          HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_SSSE3 &&
                          HWY_TARGET != HWY_SSE4;

// Computes (v / divisor - mean) / std. With fused multiply-add, two products
// replace each division; the result is the same.
HWY_INLINE VF Evaluate(const ValueFormula& f, VF v) {
  const DF d;
#if HWY_NATIVE_FMA
  const VF quotient = hn::MulAdd(v, hn::Set(d, f.divisor_high),
                                 hn::Mul(v, hn::Set(d, f.divisor_low)));
  const VF centered = hn::Sub(quotient, hn::Set(d, f.mean));
  return hn::MulAdd(centered, hn::Set(d, f.std_high),
                    hn::Mul(centered, hn::Set(d, f.std_low)));
#else
  const VF quotient = hn::Div(v, hn::Set(d, f.divisor));
  return hn::Div(hn::Sub(quotient, hn::Set(d, f.mean)), hn::Set(d, f.std));
#endif
}

HWY_INLINE void Store(VF v, float* out) { hn::StoreU(v, DF(), out); }

HWY_INLINE HWY_MAYBE_UNUSED void Store(VF v, hwy::float16_t* out) {
  const hn::Rebind<hwy::float16_t, DF> d;
  hn::StoreU(hn::DemoteTo(d, v), d, out);
}

// Rounds to bfloat16: to nearest, ties to even. Values must be finite, as all
// results of a formula are.
HWY_INLINE void Store(VF v, hwy::bfloat16_t* out) {
  const DU32 d;
  const hn::Rebind<std::uint16_t, DF> d16;
  const auto bits = hn::BitCast(d, v);
  const auto odd =
      hn::And(hn::ShiftRight<16>(bits), hn::Set(d, std::uint32_t{1}));
  const auto rounded =
      hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFu))));
  const auto narrow = hn::DemoteTo(d16, hn::BitCast(D32(), rounded));
  hn::StoreU(narrow, d16, reinterpret_cast<std::uint16_t*>(out));
}

// Writes whole vectors of elements; returns how many elements it wrote.
template <typename Element>
HWY_INLINE std::size_t ByFormula(const ValueFormula& formula,
                                 const std::uint8_t* HWY_RESTRICT pixels,
                                 std::size_t count, Element* HWY_RESTRICT out) {
  const DF d;
  const D32 d32;
  const hn::Rebind<std::uint8_t, DF> d8;
  const std::size_t n = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + n <= count; i += n) {
    const auto v = hn::PromoteTo(d32, hn::LoadU(d8, pixels + i));
    Store(Evaluate(formula, hn::ConvertTo(d, v)), out + i);
  }
  return i;
}

// Writes elements by the formula, as many as fill whole vectors. Returns how
// many elements it wrote.
std::size_t ByFormulaHere(const ValueTable& table, std::size_t color,
                          const std::uint8_t* pixels, std::size_t count,
                          std::uint8_t* out) {
  const ValueFormula& formula = table.formula[color];
  switch (table.dtype) {
    case proto::DType::kFloat32:
      return ByFormula(formula, pixels, count, reinterpret_cast<float*>(out));
    case proto::DType::kBfloat16:
      return ByFormula(formula, pixels, count,
                       reinterpret_cast<hwy::bfloat16_t*>(out));
    case proto::DType::kFloat16:
      if constexpr (kHasHalf) {
        return ByFormula(formula, pixels, count,
                         reinterpret_cast<hwy::float16_t*>(out));
      }
      return 0;
    default:
      return 0;
  }
}

// Interleaves three rows. Elements behind the last whole vector are interleaved
// one by one.
template <typename Element>
HWY_INLINE void Interleave(const std::uint8_t* const (&rows)[kColors],
                           std::size_t count, std::uint8_t* out) {
  const hn::CappedTag<Element, kPlaneUnit / sizeof(Element)> d;
  const Element* from[kColors];
  for (int c = 0; c < kColors; ++c)
    from[c] = reinterpret_cast<const Element*>(rows[c]);
  auto* to = reinterpret_cast<Element*>(out);
  const std::size_t n = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + n <= count; i += n) {
    hn::StoreInterleaved3(hn::LoadU(d, from[0] + i), hn::LoadU(d, from[1] + i),
                          hn::LoadU(d, from[2] + i), d, to + 3 * i);
  }
  for (; i < count; ++i) {
    for (std::size_t c = 0; c < kColors; ++c) {
      std::memcpy(out + (3 * i + c) * sizeof(Element), from[c] + i,
                  sizeof(Element));
    }
  }
}

void InterleaveHere(const std::uint8_t* const (&rows)[kColors],
                    std::size_t count, std::size_t size, std::uint8_t* out) {
  if (size == 1) return Interleave<std::uint8_t>(rows, count, out);
  if (size == 2) return Interleave<std::uint16_t>(rows, count, out);
  return Interleave<std::uint32_t>(rows, count, out);
}

const char* TargetHere() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace forebay::pipeline::transform
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forebay::pipeline::transform {

HWY_EXPORT(ByFormulaHere);
HWY_EXPORT(InterleaveHere);
HWY_EXPORT(TargetHere);

void ConvertRow(const ValueTable& table, std::size_t color,
                const std::uint8_t* pixels, std::size_t count,
                std::uint8_t* out) {
  if (table.identity) {
    std::memcpy(out, pixels, count);
    return;
  }
  std::size_t i = 0;
  if (table.has_formula) {
    i = HWY_DYNAMIC_DISPATCH(ByFormulaHere)(table, color, pixels, count, out);
  }
  const auto& bits = table.bits[color];
  const auto& narrow = table.narrow[color];
  switch (proto::SizeOf(table.dtype)) {
    case 1:
      for (; i < count; ++i)
        out[i] = static_cast<std::uint8_t>(bits[pixels[i]]);
      return;
    case 2:
      for (; i < count; ++i) std::memcpy(out + 2 * i, &narrow[pixels[i]], 2);
      return;
    default:
      for (; i < count; ++i) std::memcpy(out + 4 * i, &bits[pixels[i]], 4);
      return;
  }
}

void InterleaveRows(const std::uint8_t* const (&rows)[kColors],
                    std::size_t count, std::size_t size, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(InterleaveHere)(rows, count, size, out);
}

const char* VectorTarget() { return HWY_DYNAMIC_DISPATCH(TargetHere)(); }

}  // namespace forebay::pipeline::transform
#endif  // HWY_ONCE
