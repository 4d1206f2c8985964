#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/upright_decoder.h"
#include "server/pipeline/transform/scratch.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

struct Workspace::Parts {
  explicit Parts(const WorkspaceLimits& limits);

  // Opens the image, as it is stored or upright, with all of the scratch for
  // it. Errors: the decoder's; RESOURCE_EXHAUSTED: decoding takes more scratch
  // than there is.
  absl::StatusOr<decode::ImageInfo> Open(absl::Span<const std::uint8_t> encoded,
                                         bool upright = false);

  decode::UprightDecoder decoder;
  transform::Scratch scratch;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_
