#include "server/pipeline/transform/half_floats.h"

#include <bit>
#include <cmath>

namespace forebay::pipeline::transform {

std::uint16_t HalfBits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return sign | 0x7E00;   // NaN
  if (magnitude >= 0x477FF000) return sign | 0x7C00;  // rounds to infinity
  if (magnitude < 0x38800000) {  // subnormal: a multiple of 2^-24
    const float steps = std::bit_cast<float>(magnitude) * 0x1p24F;
    return sign | static_cast<std::uint16_t>(std::lrint(steps));
  }
  // The bias of exponents is 127 in float32 and 15 in binary16, which is 112
  // less. Adding 0xFFF, and 1 more if the kept part is odd, rounds ties to
  // even.
  const std::uint32_t odd = (magnitude >> 13) & 1;
  return sign |
         static_cast<std::uint16_t>(
             (magnitude + 0xFFF + odd - (std::uint32_t{112} << 23)) >> 13);
}

float FromHalfBits(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t magnitude = half & 0x7FFF;
  if (magnitude > 0x7C00) return NAN;
  if (magnitude == 0x7C00) return sign != 0 ? -INFINITY : INFINITY;
  if (magnitude < 0x400) {  // subnormal
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign |
                              ((magnitude << 13) + (std::uint32_t{112} << 23)));
}

std::uint16_t BfloatBits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float FromBfloatBits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace forebay::pipeline::transform
