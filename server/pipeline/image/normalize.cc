#include <cmath>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/image/op_parameters.h"

namespace forebay::pipeline::image {
namespace {

// Bound of means and standard deviations. The bound is far below float32's
// 3.4e38, so differences are finite.
constexpr double kMax = 1e30;

// Checks that all values are within the bound.
absl::Status CheckBound(absl::Span<const double> values, const char* name) {
  for (const double value : values) {
    if (value >= -kMax && value <= kMax) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", value, ", not ", -kMax, " to ", kMax));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Add(const proto::Normalize& op, ProgramBuilder& program) {
  if (program.dtype() == proto::DType::kUint8) {
    return absl::InvalidArgumentError(
        "needs floating-point pixels: put ToDtype(float32, scale=True) "
        "before it");
  }
  if (op.has_axis())
    return absl::InvalidArgumentError("axis is for arrays, not for images");
  FOREBAY_RETURN_IF_ERROR(CheckBound(op.mean(), "mean"));
  FOREBAY_RETURN_IF_ERROR(CheckBound(op.std(), "std"));
  for (const double value : op.std()) {
    if (std::fabs(value) < 1 / kMax)
      return absl::InvalidArgumentError("std is 0");
  }
  transform::Normalize step;
  FOREBAY_ASSIGN_OR_RETURN(step.mean,
                           PerChannel(op.mean(), program.channels(), "mean"));
  FOREBAY_ASSIGN_OR_RETURN(step.std,
                           PerChannel(op.std(), program.channels(), "std"));
  for (const double std : step.std) {
    if (transform::RoundTo(program.dtype(), static_cast<float>(std)) == 0)
      return absl::InvalidArgumentError("std is 0 once rounded to the dtype");
  }
  program.Append(step);
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
