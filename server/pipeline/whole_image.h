#ifndef FOREBAY_SERVER_PIPELINE_WHOLE_IMAGE_H_
#define FOREBAY_SERVER_PIPELINE_WHOLE_IMAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// Decodes a whole image as it is stored. The result is interleaved 8-bit RGB of
// shape (height, width, 3), as
// numpy.asarray(PIL.Image.open(file).convert("RGB")) gives it. Thread-safe;
// each caller brings a workspace of its own. Never blocks. Errors: those of
// Pipeline::Run.

// Returns the type of the result. Reads only the image's header.
absl::StatusOr<TensorType> TypeOfWholeImage(
    absl::Span<const std::uint8_t> encoded, Workspace& workspace);

// Decodes the image into `out`, which has the bytes of TypeOfWholeImage.
absl::Status DecodeWholeImage(absl::Span<const std::uint8_t> encoded,
                              Workspace& workspace,
                              absl::Span<std::uint8_t> out);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_WHOLE_IMAGE_H_
