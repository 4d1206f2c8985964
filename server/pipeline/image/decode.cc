// Decode and ExifTranspose say how images are decoded. They add no op.

#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {

absl::Status Add(const proto::Decode& op, ProgramBuilder& program) {
  if (program.index() != 0)
    return absl::InvalidArgumentError("must come first");
  program.SetScaled(op.scaled());
  return absl::OkStatus();
}

// Images are turned upright while they are decoded, so no op on pixels may come
// before.
absl::Status Add(const proto::ExifTranspose& /*op*/, ProgramBuilder& program) {
  if (program.upright() || program.index() != program.decode_ops()) {
    return absl::InvalidArgumentError(
        "must come first, or right behind Decode");
  }
  program.SetUpright();
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
