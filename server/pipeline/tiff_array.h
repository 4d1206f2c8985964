#ifndef FOREBAY_SERVER_PIPELINE_TIFF_ARRAY_H_
#define FOREBAY_SERVER_PIPELINE_TIFF_ARRAY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/array.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

// The first image of a TIFF file as an array: the very samples that tifffile
// gives, of integers of 8 to 64 bits or floats of 16 to 64. Its axes are rows,
// columns and, if there are several, channels; these come first if each is
// stored by itself. Functions are thread-safe, each caller with a workspace of
// its own. They take as long as decoding. Errors give the reason alone:
// DATA_LOSS: the file is damaged; UNIMPLEMENTED: its samples, or how they are
// compressed, are not read; RESOURCE_EXHAUSTED: it passes a limit of the
// workspace.

namespace forebay::pipeline {

// Whether a file begins as a TIFF file does. Never blocks; has no errors.
bool IsTiff(absl::Span<const std::uint8_t> file);

// Returns the array's type, by the header alone.
absl::StatusOr<TensorType> TypeOfTiff(absl::Span<const std::uint8_t> file,
                                      const WorkspaceLimits& limits);

// Returns the array. It lies where the workspace unpacks; all else there is
// lost.
absl::StatusOr<Array> ReadTiff(absl::Span<const std::uint8_t> file,
                               Workspace& workspace);

// Writes the elements into `out`, which has room for just these. The file may
// lie where the workspace unpacks.
absl::Status ReadTiff(absl::Span<const std::uint8_t> file, Workspace& workspace,
                      absl::Span<std::uint8_t> out);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_TIFF_ARRAY_H_
