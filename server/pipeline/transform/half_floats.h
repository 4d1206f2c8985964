#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_HALF_FLOATS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_HALF_FLOATS_H_

#include <cstdint>

namespace forebay::pipeline::transform {

// The bits of floating-point numbers of 16 bits. Rounding is to nearest even.
// Thread-safe; never blocks; no errors.

// IEEE 754's binary16.
std::uint16_t HalfBits(float value);
float FromHalfBits(std::uint16_t half);
// The upper half of a float32.
std::uint16_t BfloatBits(float value);
float FromBfloatBits(std::uint16_t bits);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_HALF_FLOATS_H_
