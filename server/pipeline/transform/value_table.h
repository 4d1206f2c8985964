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

struct Convert {
  proto::DType dtype = proto::DType::kFloat32;  // not kInt64
  bool scale = false;
};

struct Normalize {
  std::array<double, kColors> mean{};
  std::array<double, kColors> std{};
};

// A step of what happens to a pixel's value after geometry and color. The first
// starts from uint8.
using ValueStep = std::variant<Convert, Normalize>;

// (v / divisor - mean) / std in float32, and the same without a division, for
// CPUs with fused multiply-add: v * high + v * low is v / divisor, and so on.
struct ValueFormula {
  float divisor = 1;
  float divisor_high = 1;
  float divisor_low = 0;
  float mean = 0;
  float std = 1;
  float std_high = 1;
  float std_low = 0;
};

// Every value that a pixel may become: the bits of the element for each color
// and each uint8 value, computed step by step in the steps' own precision, as
// torchvision does. Immutable.
struct ValueTable {
  proto::DType dtype = proto::DType::kUint8;
  // Elements, in the low bits; the 16-bit types' in `narrow` too.
  std::array<std::array<std::uint32_t, 256>, kColors> bits{};
  std::array<std::array<std::uint16_t, 256>, kColors> narrow{};
  // Whether it maps uint8 to uint8 without a change.
  bool identity = false;
  // Whether `formula`, rounded to dtype, gives exactly these bits.
  bool has_formula = false;
  std::array<ValueFormula, kColors> formula{};
};

ValueTable MakeValueTable(const std::vector<ValueStep>& steps);

// Returns the element that `value`, of the dtype before steps[first], becomes.
std::uint32_t ElementBits(const std::vector<ValueStep>& steps,
                          std::size_t first, std::size_t color, float value);

// Rounds `value` to a floating dtype, to nearest even.
float RoundTo(proto::DType dtype, float value);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_VALUE_TABLE_H_
