#include "server/pipeline/ndarray/array_ops.h"

namespace forebay::pipeline::ndarray {

absl::Status Add(const proto::ToDtype& op, ArrayProgramBuilder& program) {
  return program.steps().AddCast(static_cast<proto::DType>(op.dtype()),
                                 op.scale());
}

}  // namespace forebay::pipeline::ndarray
