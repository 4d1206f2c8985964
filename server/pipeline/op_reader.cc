// Checks the parameters of ops on images. All bounds are inclusive, and NaN
// fails every check. Lengths are limited so that later arithmetic in 64 bits
// cannot overflow. Factors are limited so that float32 results stay finite.
// Errors name the parameter as Python's transforms do.

#include "server/pipeline/op_reader.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline {
namespace {

// Longest side of an image, crop or padding, in pixels.
constexpr std::uint32_t kMaxLength = 65535;
// Upper bounds of factors. Above these bounds, torchvision's float32 arithmetic
// gives no useful results either.
constexpr double kMaxScale = 1e6;
constexpr double kMaxRatio = 1e6;
constexpr double kMaxFactor = 1e6;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Checks that a length is within `min` and kMaxLength pixels.
absl::Status CheckLength(std::uint32_t value, std::uint32_t min,
                         std::string_view name) {
  if (value >= min && value <= kMaxLength) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      View(name), " is ", value, ", not ", min, " to ", kMaxLength));
}

// Checks that a number is within `min` and `max`. NaN fails the check.
absl::Status CheckNumber(double value, double min, double max,
                         std::string_view name) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(View(name), " is ", value, ", not ", min, " to ", max));
}

absl::Status CheckSize(std::uint32_t height, std::uint32_t width) {
  FOREBAY_RETURN_IF_ERROR(CheckLength(height, 1, "height"));
  return CheckLength(width, 1, "width");
}

// Converts an interpolation. The default is bilinear, as in torchvision.
absl::StatusOr<transform::Filter> ReadFilter(proto::Interpolation value) {
  switch (value) {
    case proto::INTERPOLATION_UNSPECIFIED:
    case proto::BILINEAR:
      return transform::Filter::kBilinear;
    case proto::NEAREST:
      return transform::Filter::kNearest;
    case proto::BICUBIC:
      return transform::Filter::kBicubic;
    case proto::BILINEAR_ALIASED:
      return transform::Filter::kBilinearAliased;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("interpolation is ", static_cast<int>(value),
                       ", which this daemon does not know"));
  }
}

// Converts a padding mode. The default is constant.
absl::StatusOr<transform::PadMode> ReadMode(proto::PaddingMode value) {
  switch (value) {
    case proto::PADDING_MODE_UNSPECIFIED:
    case proto::CONSTANT:
      return transform::PadMode::kConstant;
    case proto::EDGE:
      return transform::PadMode::kEdge;
    case proto::REFLECT:
      return transform::PadMode::kReflect;
    case proto::SYMMETRIC:
      return transform::PadMode::kSymmetric;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("padding mode is ", static_cast<int>(value),
                       ", which this daemon does not know"));
  }
}

// Returns a flip whose probability is `p`. INVALID_ARGUMENT: `p` is not in
// 0..1.
absl::StatusOr<transform::RandomFlip> ReadFlip(double p, bool horizontal) {
  FOREBAY_RETURN_IF_ERROR(CheckNumber(p, 0, 1, "p"));
  return transform::RandomFlip{horizontal, static_cast<float>(p)};
}

// Reads a factor's range. `neutral` is the factor that changes nothing. A range
// that holds only this factor counts as not set, so no number is drawn for it.
absl::StatusOr<transform::Interval> ReadRange(bool has,
                                              const proto::Range& range,
                                              double min, double max,
                                              double neutral,
                                              std::string_view name) {
  if (!has) return transform::Interval{};
  FOREBAY_RETURN_IF_ERROR(CheckNumber(range.min(), min, max, name));
  FOREBAY_RETURN_IF_ERROR(CheckNumber(range.max(), range.min(), max, name));
  const bool idle = range.min() == neutral && range.max() == neutral;
  return transform::Interval{!idle, range.min(), range.max()};
}

// Returns a number for each channel. `numbers` has one number for all channels,
// or one for each.
template <typename Numbers>
absl::StatusOr<std::array<double, transform::kColors>> Spread(
    const Numbers& numbers, int channels, std::string_view name) {
  std::array<double, transform::kColors> result{};
  if (numbers.size() != 1 && numbers.size() != channels) {
    return absl::InvalidArgumentError(
        absl::StrCat(View(name), " has ", numbers.size(),
                     " values for an image of ", channels, " channels"));
  }
  for (int c = 0; c < transform::kColors; ++c)
    result[c] = numbers[numbers.size() == 1 || c >= channels ? 0 : c];
  return result;
}

}  // namespace

absl::StatusOr<transform::Resize> Read(const proto::Resize& op) {
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.height(), 1, "height"));
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.width(), 0, "width"));
  FOREBAY_ASSIGN_OR_RETURN(const auto filter, ReadFilter(op.interpolation()));
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.max_size(), 0, "max_size"));
  if (op.max_size() != 0 && op.width() != 0) {
    return absl::InvalidArgumentError(
        "max_size goes with the shorter edge only, not with both sides");
  }
  // max_size must exceed the shorter edge, as in torchvision.
  if (op.max_size() != 0 && op.max_size() <= op.height()) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_size is ", op.max_size(),
                     ", not above the shorter edge's ", op.height()));
  }
  return transform::Resize{op.height(), op.width(), op.max_size(), filter};
}

absl::StatusOr<transform::CenterCrop> Read(const proto::CenterCrop& op) {
  FOREBAY_RETURN_IF_ERROR(CheckSize(op.height(), op.width()));
  return transform::CenterCrop{op.height(), op.width()};
}

absl::StatusOr<transform::RandomCrop> Read(const proto::RandomCrop& op) {
  FOREBAY_RETURN_IF_ERROR(CheckSize(op.height(), op.width()));
  FOREBAY_ASSIGN_OR_RETURN(const auto padding, Read(op.padding()));
  return transform::RandomCrop{op.height(), op.width(), padding,
                               op.pad_if_needed()};
}

absl::StatusOr<transform::RandomResizedCrop> Read(
    const proto::RandomResizedCrop& op) {
  FOREBAY_RETURN_IF_ERROR(CheckSize(op.height(), op.width()));
  // Scales and ratios must be above 0. The logarithm of 0 would be infinite.
  const double tiny = 1 / kMaxRatio;
  FOREBAY_RETURN_IF_ERROR(
      CheckNumber(op.scale_min(), tiny, kMaxScale, "scale_min"));
  FOREBAY_RETURN_IF_ERROR(
      CheckNumber(op.scale_max(), op.scale_min(), kMaxScale, "scale_max"));
  FOREBAY_RETURN_IF_ERROR(
      CheckNumber(op.ratio_min(), tiny, kMaxRatio, "ratio_min"));
  FOREBAY_RETURN_IF_ERROR(
      CheckNumber(op.ratio_max(), op.ratio_min(), kMaxRatio, "ratio_max"));
  FOREBAY_ASSIGN_OR_RETURN(const auto filter, ReadFilter(op.interpolation()));
  // torch computes the logarithms in float32.
  const auto log = [](double ratio) {
    return static_cast<float>(transform::ExactLog(static_cast<float>(ratio)));
  };
  return transform::RandomResizedCrop{
      op.height(),
      op.width(),
      {op.scale_min(), op.scale_max()},
      {op.ratio_min(), op.ratio_max()},
      {log(op.ratio_min()), log(op.ratio_max())},
      filter};
}

absl::StatusOr<transform::RandomFlip> Read(
    const proto::RandomHorizontalFlip& op) {
  return ReadFlip(op.p(), true);
}

absl::StatusOr<transform::RandomFlip> Read(
    const proto::RandomVerticalFlip& op) {
  return ReadFlip(op.p(), false);
}

absl::StatusOr<transform::ColorJitter> Read(const proto::ColorJitter& op) {
  transform::ColorJitter result;
  FOREBAY_ASSIGN_OR_RETURN(result.brightness,
                           ReadRange(op.has_brightness(), op.brightness(), 0,
                                     kMaxFactor, 1, "brightness"));
  FOREBAY_ASSIGN_OR_RETURN(result.contrast,
                           ReadRange(op.has_contrast(), op.contrast(), 0,
                                     kMaxFactor, 1, "contrast"));
  FOREBAY_ASSIGN_OR_RETURN(result.saturation,
                           ReadRange(op.has_saturation(), op.saturation(), 0,
                                     kMaxFactor, 1, "saturation"));
  FOREBAY_ASSIGN_OR_RETURN(
      result.hue, ReadRange(op.has_hue(), op.hue(), -0.5, 0.5, 0, "hue"));
  return result;
}

absl::StatusOr<int> Read(const proto::Grayscale& op) {
  if (op.num_output_channels() == 3) return 3;
  if (op.num_output_channels() <= 1) return 1;
  return absl::InvalidArgumentError(absl::StrCat(
      "num_output_channels is ", op.num_output_channels(), ", not 1 or 3"));
}

absl::StatusOr<transform::Padding> Read(const proto::Padding& op) {
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.left(), 0, "left padding"));
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.top(), 0, "top padding"));
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.right(), 0, "right padding"));
  FOREBAY_RETURN_IF_ERROR(CheckLength(op.bottom(), 0, "bottom padding"));
  FOREBAY_ASSIGN_OR_RETURN(const auto mode, ReadMode(op.mode()));
  return transform::Padding{op.left(), op.top(), op.right(), op.bottom(), mode};
}

absl::StatusOr<std::array<double, transform::kColors>> ReadFill(
    const proto::Padding& op, int channels) {
  if (op.fill().empty()) return std::array<double, transform::kColors>{};
  for (const double value : op.fill())
    FOREBAY_RETURN_IF_ERROR(CheckNumber(value, 0, 255, "fill"));
  return Spread(op.fill(), channels, "fill");
}

absl::StatusOr<transform::Normalize> Read(const proto::Normalize& op,
                                          int channels) {
  // Bound of values. It is far below float32's 3.4e38, so differences are
  // finite.
  constexpr double kMax = 1e30;
  for (const double value : op.mean())
    FOREBAY_RETURN_IF_ERROR(CheckNumber(value, -kMax, kMax, "mean"));
  for (const double value : op.std()) {
    FOREBAY_RETURN_IF_ERROR(CheckNumber(value, -kMax, kMax, "std"));
    if (std::fabs(value) < 1 / kMax)
      return absl::InvalidArgumentError("std is 0");
  }
  transform::Normalize result;
  FOREBAY_ASSIGN_OR_RETURN(result.mean, Spread(op.mean(), channels, "mean"));
  FOREBAY_ASSIGN_OR_RETURN(result.std, Spread(op.std(), channels, "std"));
  return result;
}

absl::StatusOr<transform::Convert> Read(const proto::ToDtype& op) {
  switch (op.dtype()) {
    case proto::UINT8:
    case proto::FLOAT16:
    case proto::BFLOAT16:
    case proto::FLOAT32:
      return transform::Convert{static_cast<proto::DType>(op.dtype()),
                                op.scale()};
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("dtype is ", proto::DataType_Name(op.dtype()),
                       ", not UINT8, FLOAT16, BFLOAT16 or FLOAT32"));
  }
}

absl::StatusOr<bool> Read(const proto::ToImage& op) {
  switch (op.layout()) {
    case proto::ToImage::LAYOUT_UNSPECIFIED:
    case proto::ToImage::NCHW:
      return false;
    case proto::ToImage::NHWC:
      return true;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("layout is ", static_cast<int>(op.layout()),
                       ", which this daemon does not know"));
  }
}

}  // namespace forebay::pipeline
