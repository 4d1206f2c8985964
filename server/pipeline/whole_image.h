#ifndef FOREBAY_SERVER_PIPELINE_WHOLE_IMAGE_H_
#define FOREBAY_SERVER_PIPELINE_WHOLE_IMAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// Decodes all of an image, as it is: height x width x 3 of interleaved 8-bit
// RGB, as numpy.asarray(PIL.Image.open(file).convert("RGB")). Thread-safe, each
// caller with a workspace of its own; does not block. Errors: as
// Pipeline::Run's.

// Returns the type of the result; reads the header alone.
absl::StatusOr<TensorType> TypeOfWholeImage(
    absl::Span<const std::uint8_t> encoded, Workspace& workspace);

// `out` is as long as its type says.
absl::Status DecodeWholeImage(absl::Span<const std::uint8_t> encoded,
                              Workspace& workspace,
                              absl::Span<std::uint8_t> out);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WHOLE_IMAGE_H_
