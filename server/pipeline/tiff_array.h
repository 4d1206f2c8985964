#ifndef FOREBAY_SERVER_PIPELINE_TIFF_ARRAY_H_
#define FOREBAY_SERVER_PIPELINE_TIFF_ARRAY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/array.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

// Reads the first image of a TIFF file as an array. The elements are the same
// as those that the Python package tifffile gives: integers of 8 to 64 bits, or
// floats of 16 to 64 bits. The axes are rows, columns and, if there are several
// channels, channels. If each channel is stored as a plane of its own, channels
// are the first axis (TIFF 6.0, PlanarConfiguration 2).
//
// Functions are thread-safe; each caller brings a workspace of its own. They
// take as long as decoding. An error's message has only the reason, without the
// file's name. DATA_LOSS: the file is damaged. UNIMPLEMENTED: the type of the
// samples, or their compression, is not supported. RESOURCE_EXHAUSTED: the
// image exceeds a limit of the workspace.

namespace forebay::pipeline {

// Whether a file begins as a TIFF file does. Never blocks; no errors.
bool IsTiff(absl::Span<const std::uint8_t> file);

// Returns the type of the file's array. Reads only the header and the
// directory.
absl::StatusOr<TensorType> TypeOfTiff(absl::Span<const std::uint8_t> file,
                                      const WorkspaceLimits& limits);

// Returns the file's array. The elements lie in the workspace's scratch memory.
// Earlier contents of that memory are lost, so `file` must not lie there.
absl::StatusOr<Array> ReadTiff(absl::Span<const std::uint8_t> file,
                               Workspace& workspace);

// Writes the file's elements into `out`, whose size is that of TypeOfTiff.
// `file` may lie in the room that Workspace::RoomToDecompress returned.
absl::Status ReadTiff(absl::Span<const std::uint8_t> file, Workspace& workspace,
                      absl::Span<std::uint8_t> out);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_TIFF_ARRAY_H_
