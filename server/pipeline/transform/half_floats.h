#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_HALF_FLOATS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_HALF_FLOATS_H_

#include <cstdint>

namespace forebay::pipeline::transform {

// Conversions between float32 and the bits of 16-bit floating-point numbers.
// Rounding is to nearest, ties to even. Functions are thread-safe, never block
// and have no errors.

// Convert to and from IEEE 754's binary16: 5 bits of exponent, 10 of fraction.
std::uint16_t HalfBits(float value);
float FromHalfBits(std::uint16_t half);
// Convert to and from bfloat16, the upper half of a float32.
std::uint16_t BfloatBits(float value);
float FromBfloatBits(std::uint16_t bits);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_HALF_FLOATS_H_
