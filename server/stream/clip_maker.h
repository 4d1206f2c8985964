#ifndef FOREBAY_SERVER_STREAM_CLIP_MAKER_H_
#define FOREBAY_SERVER_STREAM_CLIP_MAKER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/array_transform.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

namespace forebay::stream {

// Decodes what `pipeline` looks at of an audio file, and writes into `out` what
// it makes of that. Returns how many bytes. The part is decoded straight into
// its place if nothing else is done to it, else into the workspace.
//
// Thread-safe, each caller with a workspace of its own; takes as long as
// decoding. Errors give the reason alone: those of audio::ClipDecoder,
// ArrayTransform::Run and Workspace::RoomToUnpack; DATA_LOSS: `out` has no room
// for it, though it has some for what the pipeline makes at most.
absl::StatusOr<std::uint64_t> MakeClip(const pipeline::ArrayTransform& pipeline,
                                       absl::Span<const std::uint8_t> file,
                                       const pipeline::SampleKey& key,
                                       pipeline::Workspace& workspace,
                                       absl::Span<std::uint8_t> out);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CLIP_MAKER_H_
