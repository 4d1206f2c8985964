// Computes the element for each of the 256 values of each color, step by step,
// as torchvision computes it for one pixel. Arithmetic is in float32, and each
// result is rounded to the step's type. Vector code uses a formula only if the
// formula gives the table's bits for all values.

#include "server/pipeline/transform/value_table.h"

#include <bit>
#include <cmath>

#include "server/pipeline/transform/half_floats.h"

namespace forebay::pipeline::transform {
namespace {

using proto::DType;

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// Returns the bits of `value` as an element of the type `dtype`, in the low
// bits of a word.
std::uint32_t Encode(DType dtype, float value) {
  switch (dtype) {
    case DType::kUint8:
      return static_cast<std::uint32_t>(value);
    case DType::kFloat16:
      return HalfBits(value);
    case DType::kBfloat16:
      return BfloatBits(value);
    default:
      return Bits(value);
  }
}

// Converts to uint8 as torchvision does. Clips the result to 0 and 255.
float ToUint8(DType from, bool scale, float value) {
  // Torchvision multiplies by 255 + 1 - 1e-3 and truncates.
  if (scale) value = RoundTo(from, value * static_cast<float>(255 + 1 - 1e-3));
  if (!(value > 0)) return 0;
  return value >= 255 ? 255 : std::trunc(value);
}

// A value, and the type that it is rounded to.
struct Value {
  DType dtype;
  float value;
};

Value Apply(const Convert& step, std::size_t /*color*/, Value in) {
  if (step.dtype == in.dtype) return in;
  if (step.dtype == DType::kUint8)
    return {DType::kUint8, ToUint8(in.dtype, step.scale, in.value)};
  // Integers are first cast and then divided by 255. Both results are rounded.
  float value = RoundTo(step.dtype, in.value);
  if (in.dtype == DType::kUint8 && step.scale)
    value = RoundTo(step.dtype, value / 255.0F);
  return {step.dtype, value};
}

Value Apply(const Normalize& step, std::size_t color, Value in) {
  const float mean = RoundTo(in.dtype, static_cast<float>(step.mean[color]));
  const float std = RoundTo(in.dtype, static_cast<float>(step.std[color]));
  const float centered = RoundTo(in.dtype, in.value - mean);
  return {in.dtype, RoundTo(in.dtype, centered / std)};
}

// Takes a value through the steps from number `first` on.
Value ApplyAll(const std::vector<ValueStep>& steps, std::size_t first,
               std::size_t color, Value value) {
  for (std::size_t i = first; i < steps.size(); ++i) {
    value = std::visit(
        [&](const auto& step) { return Apply(step, color, value); }, steps[i]);
  }
  return value;
}

// Returns the type that values have behind the first `end` steps.
DType DtypeBefore(const std::vector<ValueStep>& steps, std::size_t end) {
  DType dtype = DType::kUint8;
  for (std::size_t i = 0; i < end; ++i) {
    if (const auto* convert = std::get_if<Convert>(&steps[i]))
      dtype = convert->dtype;
  }
  return dtype;
}

// Finds the two float32 numbers whose sum is closest to 1 / value.
void Reciprocal(float value, float& high, float& low) {
  const double exact = 1.0 / static_cast<double>(value);
  high = static_cast<float>(exact);
  low = static_cast<float>(exact - static_cast<double>(high));
}

// Guesses the formula of the steps from the first conversion, if it scales, and
// the first Normalize. Holds tells whether the guess is right.
ValueFormula MakeFormula(const std::vector<ValueStep>& steps,
                         std::size_t color) {
  ValueFormula formula;
  bool normalized = false;
  for (const ValueStep& step : steps) {
    const auto* convert = std::get_if<Convert>(&step);
    const auto* normalize = std::get_if<Normalize>(&step);
    if (convert != nullptr && &step == &steps.front() && convert->scale)
      formula.divisor = 255;
    if (normalize != nullptr && !normalized) {
      formula.mean = static_cast<float>(normalize->mean[color]);
      formula.std = static_cast<float>(normalize->std[color]);
      normalized = true;
    }
  }
  Reciprocal(formula.divisor, formula.divisor_high, formula.divisor_low);
  Reciprocal(formula.std, formula.std_high, formula.std_low);
  return formula;
}

// Whether the formula gives the table's bits for all 256 values, both with
// divisions and with fused multiply-adds.
bool Holds(const ValueFormula& f, DType dtype,
           const std::array<std::uint32_t, 256>& bits) {
  for (int v = 0; v < 256; ++v) {
    const auto value = static_cast<float>(v);
    const float divided = (value / f.divisor - f.mean) / f.std;
    const float scaled =
        std::fma(value, f.divisor_high, value * f.divisor_low) - f.mean;
    const float fused = std::fma(scaled, f.std_high, scaled * f.std_low);
    if (Encode(dtype, divided) != bits[v] || Encode(dtype, fused) != bits[v])
      return false;
  }
  return true;
}

}  // namespace

float RoundTo(DType dtype, float value) {
  switch (dtype) {
    case DType::kFloat16:
      return FromHalfBits(HalfBits(value));
    case DType::kBfloat16:
      return FromBfloatBits(BfloatBits(value));
    default:
      return value;
  }
}

std::uint32_t ElementBits(const std::vector<ValueStep>& steps,
                          std::size_t first, std::size_t color, float value) {
  const DType dtype = DtypeBefore(steps, first);
  const float start = dtype == DType::kUint8 ? ToUint8(dtype, false, value)
                                             : RoundTo(dtype, value);
  const Value end = ApplyAll(steps, first, color, {dtype, start});
  return Encode(end.dtype, end.value);
}

ValueTable MakeValueTable(const std::vector<ValueStep>& steps) {
  ValueTable table;
  table.dtype = DtypeBefore(steps, steps.size());
  table.identity = true;
  table.has_formula = table.dtype != DType::kUint8;
  for (std::size_t color = 0; color < kColors; ++color) {
    auto& bits = table.bits[color];
    for (std::uint32_t v = 0; v < 256; ++v) {
      bits[v] = ElementBits(steps, 0, color, static_cast<float>(v));
      table.narrow[color][v] = static_cast<std::uint16_t>(bits[v]);
      if (bits[v] != v) table.identity = false;
    }
    if (!table.has_formula) continue;
    table.formula[color] = MakeFormula(steps, color);
    table.has_formula = Holds(table.formula[color], table.dtype, bits);
  }
  table.identity = table.identity && table.dtype == DType::kUint8;
  return table;
}

}  // namespace forebay::pipeline::transform
