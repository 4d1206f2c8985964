#ifndef FOREBAY_SERVER_STREAM_CLIP_MAKER_H_
#define FOREBAY_SERVER_STREAM_CLIP_MAKER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/array_transform.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

namespace forebay::stream {

// Decodes the part of an audio file that `pipeline` uses, and writes the
// pipeline's result into `out`. Returns the number of bytes written. If the
// pipeline does nothing but cut, the part is decoded straight into `out`.
// Otherwise it is decoded into the workspace, and the pipeline runs from there.
//
// Thread-safe, if each caller has a workspace of its own. Computes for as long
// as decoding takes. Errors do not name the sample. They are those of
// audio::ClipDecoder, ArrayTransform::Run and Workspace::RoomToDecompress.
// DATA_LOSS: the result is longer than `out`, which has room for all that the
// index allows.
absl::StatusOr<std::uint64_t> MakeClip(const pipeline::ArrayTransform& pipeline,
                                       absl::Span<const std::uint8_t> file,
                                       const pipeline::SampleKey& key,
                                       pipeline::Workspace& workspace,
                                       absl::Span<std::uint8_t> out);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CLIP_MAKER_H_
