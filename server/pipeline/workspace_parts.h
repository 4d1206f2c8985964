#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/upright_decoder.h"
#include "server/pipeline/transform/scratch.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// The parts of a workspace. Not thread-safe.
struct Workspace::Parts {
  // Makes the decoders, and reserves the scratch.
  explicit Parts(const WorkspaceLimits& limits);

  // Resets the scratch, and opens an image, as it is stored or turned upright.
  // Counts the bytes that decoding takes against the scratch's limit. Errors:
  // those of the decoder; RESOURCE_EXHAUSTED: decoding takes more scratch
  // memory than there is.
  absl::StatusOr<decode::ImageInfo> Open(absl::Span<const std::uint8_t> encoded,
                                         bool upright = false);

  decode::UprightDecoder decoder;
  transform::Scratch scratch;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_
