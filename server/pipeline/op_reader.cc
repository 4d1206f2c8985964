// Reads ops on images, whose numbers are within the bounds of job.proto. These
// limit lengths so that later arithmetic in 64 bits cannot overflow, and
// factors so that float32 results stay finite. Errors of this file name the
// parameter as Python's transforms do.

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

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Checks that the lower end of a range is not above the upper end.
absl::Status CheckOrder(double min, double max, std::string_view name) {
  if (min <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      View(name), " is ", min, " to ", max, ", whose ends are in wrong order"));
}

// Converts an interpolation. The default is bilinear, as in torchvision.
transform::Filter FilterOf(proto::Interpolation value) {
  switch (value) {
    case proto::NEAREST:
      return transform::Filter::kNearest;
    case proto::BICUBIC:
      return transform::Filter::kBicubic;
    case proto::BILINEAR_ALIASED:
      return transform::Filter::kBilinearAliased;
    default:
      return transform::Filter::kBilinear;
  }
}

// Converts a padding mode. The default is constant.
transform::PadMode ModeOf(proto::PaddingMode value) {
  switch (value) {
    case proto::EDGE:
      return transform::PadMode::kEdge;
    case proto::REFLECT:
      return transform::PadMode::kReflect;
    case proto::SYMMETRIC:
      return transform::PadMode::kSymmetric;
    default:
      return transform::PadMode::kConstant;
  }
}

// Reads a factor's range. `neutral` is the factor that changes nothing. A range
// that holds only this factor counts as not set, so no number is drawn for it.
absl::StatusOr<transform::Interval> ReadRange(bool has,
                                              const proto::Range& range,
                                              double neutral,
                                              std::string_view name) {
  if (!has) return transform::Interval{};
  FOREBAY_RETURN_IF_ERROR(CheckOrder(range.min(), range.max(), name));
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
  return transform::Resize{op.height(), op.width(), op.max_size(),
                           FilterOf(op.interpolation())};
}

transform::CenterCrop Read(const proto::CenterCrop& op) {
  return {op.height(), op.width()};
}

transform::RandomCrop Read(const proto::RandomCrop& op) {
  return {op.height(), op.width(), Read(op.padding()), op.pad_if_needed()};
}

absl::StatusOr<transform::RandomResizedCrop> Read(
    const proto::RandomResizedCrop& op) {
  FOREBAY_RETURN_IF_ERROR(CheckOrder(op.scale_min(), op.scale_max(), "scale"));
  FOREBAY_RETURN_IF_ERROR(CheckOrder(op.ratio_min(), op.ratio_max(), "ratio"));
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
      FilterOf(op.interpolation())};
}

transform::RandomFlip Read(const proto::RandomHorizontalFlip& op) {
  return {true, static_cast<float>(op.p())};
}

transform::RandomFlip Read(const proto::RandomVerticalFlip& op) {
  return {false, static_cast<float>(op.p())};
}

absl::StatusOr<transform::ColorJitter> Read(const proto::ColorJitter& op) {
  transform::ColorJitter result;
  FOREBAY_ASSIGN_OR_RETURN(
      result.brightness,
      ReadRange(op.has_brightness(), op.brightness(), 1, "brightness"));
  FOREBAY_ASSIGN_OR_RETURN(
      result.contrast,
      ReadRange(op.has_contrast(), op.contrast(), 1, "contrast"));
  FOREBAY_ASSIGN_OR_RETURN(
      result.saturation,
      ReadRange(op.has_saturation(), op.saturation(), 1, "saturation"));
  FOREBAY_ASSIGN_OR_RETURN(result.hue,
                           ReadRange(op.has_hue(), op.hue(), 0, "hue"));
  return result;
}

absl::StatusOr<int> Read(const proto::Grayscale& op) {
  if (op.num_output_channels() == 3) return 3;
  if (op.num_output_channels() <= 1) return 1;
  return absl::InvalidArgumentError(absl::StrCat(
      "num_output_channels is ", op.num_output_channels(), ", not 1 or 3"));
}

transform::Padding Read(const proto::Padding& op) {
  return {op.left(), op.top(), op.right(), op.bottom(), ModeOf(op.mode())};
}

absl::StatusOr<std::array<double, transform::kColors>> ReadFill(
    const proto::Padding& op, int channels) {
  if (op.fill().empty()) return std::array<double, transform::kColors>{};
  return Spread(op.fill(), channels, "fill");
}

absl::StatusOr<transform::Normalize> Read(const proto::Normalize& op,
                                          int channels) {
  // Bound of values. It is far below float32's 3.4e38, so differences are
  // finite.
  constexpr double kMax = 1e30;
  for (const auto* const values : {&op.mean(), &op.std()}) {
    const char* const name = values == &op.mean() ? "mean" : "std";
    for (const double value : *values) {
      if (value >= -kMax && value <= kMax) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", value, ", not ", -kMax, " to ", kMax));
    }
  }
  for (const double value : op.std()) {
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

bool Read(const proto::ToImage& op) {
  return op.layout() == proto::ToImage::NHWC;
}

}  // namespace forebay::pipeline
