#include "server/base/status.h"
#include "server/pipeline/ndarray/array_ops.h"

namespace forebay::pipeline::ndarray {

absl::Status Add(const proto::Normalize& op, ArrayProgramBuilder& program) {
  if (!op.has_axis()) return program.steps().AddNormalize(op, std::nullopt, 1);
  FOREBAY_ASSIGN_OR_RETURN(const std::size_t axis, program.AxisOf(op.axis()));
  if (program.ragged_axis() == axis &&
      (op.mean_size() > 1 || op.std_size() > 1)) {
    return absl::InvalidArgumentError(
        "arrays differ in the axis that its values are of");
  }
  return program.steps().AddNormalize(op, axis, program.shape()[axis]);
}

}  // namespace forebay::pipeline::ndarray
