#ifndef FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"
#include "server/stream/batch.h"
#include "server/stream/batch_layout.h"
#include "server/stream/cached_decoder.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Makes the samples of a stream: what was read becomes an image and other
// fields in their place of the slot. Immutable and thread-safe, each caller
// with a workspace of its own. Spec, layout and the choice of variants
// belong to the stream, which outlives it. Make computes for as long as
// decoding takes. Errors name the sample, the object and the reason: those of
// Pipeline::Run and of the other fields' decoders; INVALID_ARGUMENT: an array
// unlike sample 0's.
class SampleMaker {
 public:
  SampleMaker(const StreamSpec* spec, const BatchLayout* layout,
              CachedDecoder* variants)
      : spec_(spec), layout_(layout), variants_(variants) {}

  // `bytes` are what was read, in the place's variant.
  absl::Status Make(const PendingSample& pending,
                    absl::Span<const std::uint8_t> bytes,
                    pipeline::Workspace& workspace) const;

  // Names the sample of an error that names its object.
  absl::Status AnnotateError(const PendingSample& pending,
                             const absl::Status& status) const;

 private:
  pipeline::SampleKey KeyOf(const PendingSample& pending) const;
  absl::Status MakeField(const PendingSample& pending, std::size_t field,
                         const dataset::FieldRange& part,
                         absl::Span<const std::uint8_t> read,
                         pipeline::Workspace& workspace) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  CachedDecoder* const variants_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
