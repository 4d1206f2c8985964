#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_VALUE_TABLE_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_VALUE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "proto/shm_layout.h"
#include "server/pipeline/transform/planes.h"

namespace forebay::pipeline::transform {

// A conversion to another type, as torchvision's ToDtype does it.
struct Convert {
  // New type: uint8 or floating point.
  proto::DType dtype = proto::DType::kFloat32;
  // Whether values are scaled between 0 to 255 and 0 to 1.
  bool scale = false;
};

// Subtracts a mean and divides by a standard deviation, for each channel.
struct Normalize {
  std::array<double, kColors> mean{};
  std::array<double, kColors> std{};
};

// A step that changes a pixel's value, behind all ops of geometry and color.
// The first step is given uint8 values.
using ValueStep = std::variant<Convert, Normalize>;

// The formula (v / divisor - mean) / std in float32. On CPUs with fused
// multiply-add, v * divisor_high + v * divisor_low replaces the division v /
// divisor. std_high and std_low replace the division by std in the same way.
struct ValueFormula {
  float divisor = 1;
  float divisor_high = 1;
  float divisor_low = 0;
  float mean = 0;
  float std = 1;
  float std_high = 1;
  float std_low = 0;
};

// The element that each uint8 value of each color becomes. It is computed step
// by step, in each step's own precision, as torchvision does.
struct ValueTable {
  // Type of the elements.
  proto::DType dtype = proto::DType::kUint8;
  // bits[color][value] is the element, in the low bits of a word. If elements
  // have 16 bits, `narrow` has them as well.
  std::array<std::array<std::uint32_t, 256>, kColors> bits{};
  std::array<std::array<std::uint16_t, 256>, kColors> narrow{};
  // Whether each uint8 value stays as it is.
  bool identity = false;
  // Whether `formula`, rounded to `dtype`, gives exactly `bits` for all 256
  // values, both with divisions and with the factors that replace them.
  bool has_formula = false;
  // Formula of each color; used if `has_formula`.
  std::array<ValueFormula, kColors> formula{};
};

// Computes the table of a list of steps. Pure function.
ValueTable MakeValueTable(const std::vector<ValueStep>& steps);

// Returns the bits of the element that `value` becomes by the steps from number
// `first` on. `value` has the type that steps before `first` give. Pure
// function.
std::uint32_t ElementBits(const std::vector<ValueStep>& steps,
                          std::size_t first, std::size_t color, float value);

// Rounds `value` to a floating-point type, to nearest, ties to even.
float RoundTo(proto::DType dtype, float value);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_VALUE_TABLE_H_
