// Refuses the user's own code inside of a program. The pipeline takes the first
// such op out of its spec, and compiles the ops before and behind that op to
// two programs.

#include "server/pipeline/image/image_ops.h"

namespace forebay::pipeline::image {

absl::Status Add(const proto::UserCode& /*op*/, ProgramBuilder& /*program*/) {
  return absl::InvalidArgumentError("a pipeline has it once at most");
}

}  // namespace forebay::pipeline::image
