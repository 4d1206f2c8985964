#include "tools/forebayctl/denormalize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace forebay::ctl {
namespace {

// Returns the value of type T at `data`, at any alignment.
template <typename T>
T Load(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

// Returns the value of an IEEE 754 binary16 number: a sign bit, 5 bits of
// exponent with bias 15, and 10 bits of fraction.
double FromHalf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// Returns the value of a bfloat16 number: the high half of a binary32 number.
double FromBfloat(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// Returns the value for a channel. The list has a value for each channel, or
// one for all channels. Returns `fallback` if the list is empty.
double ChannelValue(const google::protobuf::RepeatedField<double>& values,
                    std::size_t channel, double fallback) {
  if (values.empty()) return fallback;
  return values[std::min<int>(static_cast<int>(channel), values.size() - 1)];
}

}  // namespace

Denormalize::Denormalize(const proto::PipelineSpec& pipeline,
                         std::size_t channels)
    : lines_(channels) {
  // The loop composes the ops to value = scale * pixel + offset. This function
  // is inverted at the end.
  bool floating = false;
  for (const proto::Op& op : pipeline.ops()) {
    if (op.has_normalize()) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double std = ChannelValue(op.normalize().std(), c, 1);
        const double mean = ChannelValue(op.normalize().mean(), c, 0);
        lines_[c].scale /= std;
        lines_[c].offset = (lines_[c].offset - mean) / std;
      }
    } else if (op.has_to_dtype()) {
      const bool to_floating = op.to_dtype().dtype() != proto::UINT8;
      const double factor = !op.to_dtype().scale() || to_floating == floating
                                ? 1
                            : to_floating ? 1.0 / 255
                                          : 255;
      for (Line& line : lines_) {
        line.scale *= factor;
        line.offset *= factor;
      }
      floating = to_floating;
    }
  }
  for (Line& line : lines_) {
    line = {1 / line.scale, -line.offset / line.scale};
  }
}

std::uint8_t Denormalize::Apply(double value, std::size_t channel) const {
  const Line& line = lines_[channel];
  const double pixel = line.scale * value + line.offset;
  // The negated comparison is also true for NaN.
  if (!(pixel > 0)) return 0;
  return static_cast<std::uint8_t>(std::lround(std::min(pixel, 255.0)));
}

double LoadValue(const char* data, proto::DataType dtype) {
  switch (dtype) {
    case proto::UINT8:
      return Load<std::uint8_t>(data);
    case proto::FLOAT16:
      return FromHalf(Load<std::uint16_t>(data));
    case proto::BFLOAT16:
      return FromBfloat(Load<std::uint16_t>(data));
    case proto::FLOAT32:
      return Load<float>(data);
    case proto::INT64:
      return static_cast<double>(Load<std::int64_t>(data));
    default:
      return 0;
  }
}

}  // namespace forebay::ctl
