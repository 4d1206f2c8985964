#ifndef FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_
#define FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_

#include "server/pipeline/decode/any_image_decoder.h"
#include "server/pipeline/transform/scratch.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

struct Workspace::Parts {
  explicit Parts(const WorkspaceLimits& limits)
      : decoder({limits.max_pixels, limits.scratch_bytes / 2}),
        scratch(limits.scratch_bytes - limits.scratch_bytes / 2) {}

  decode::AnyImageDecoder decoder;
  transform::Scratch scratch;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WORKSPACE_PARTS_H_
