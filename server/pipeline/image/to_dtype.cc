#include "absl/strings/str_cat.h"
#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {

absl::Status Add(const proto::ToDtype& op, ProgramBuilder& program) {
  switch (op.dtype()) {
    case proto::UINT8:
    case proto::FLOAT16:
    case proto::BFLOAT16:
    case proto::FLOAT32:
      program.Append(transform::Convert{static_cast<proto::DType>(op.dtype()),
                                        op.scale()});
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("dtype is ", proto::DataType_Name(op.dtype()),
                       ", not UINT8, FLOAT16, BFLOAT16 or FLOAT32"));
  }
}

}  // namespace forebay::pipeline::image
