#ifndef FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"
#include "server/stream/batch.h"
#include "server/stream/batch_layout.h"
#include "server/stream/cached_decoder.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Makes the samples of a stream: decodes the fields of each from what was read,
// straight into its row of the slot. If the pipeline has user code, the image
// goes to the sample's desk, and Finish takes the code's result from there.
// Immutable and thread-safe, each caller
// with a workspace of its own. Spec, layout and decoder outlive it. Make
// computes for as long as decoding takes. Errors: those of sample::DecodeFields
// and CachedDecoder; INVALID_ARGUMENT, an array unlike sample 0's.
class SampleMaker {
 public:
  SampleMaker(const StreamSpec* spec, const BatchLayout* layout,
              CachedDecoder* decoder)
      : spec_(spec), layout_(layout), decoder_(decoder) {}

  // `read` is what was read, in the sample's variant.
  absl::Status Make(const PendingSample& pending,
                    absl::Span<const std::uint8_t> read,
                    pipeline::Workspace& workspace) const;

  // To be called once the user's code has run.
  absl::Status Finish(const PendingSample& pending,
                      pipeline::Workspace& workspace) const;

  // Adds the sample to an error that names its object.
  absl::Status AnnotateError(const PendingSample& pending,
                             const absl::Status& status) const;

 private:
  class Row;

  pipeline::SampleKey KeyOf(const PendingSample& pending) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  CachedDecoder* const decoder_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
