#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {

absl::Status Add(const proto::ToImage& op, ProgramBuilder& program) {
  program.SetChannelsLast(op.layout() == proto::ToImage::NHWC);
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
