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
#include "server/stream/read_sample.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Makes the samples of a stream: decodes the fields of each from what was read,
// straight into its row of the slot. If the pipeline has user code, the image
// goes to the sample's desk, and the code's result is taken from there.
//
// Immutable and thread-safe, each caller with a workspace of its own. Spec,
// layout and decoder outlive it. Computes for as long as decoding takes. Errors
// are the samples': those of sample::DecodeFields and CachedDecoder;
// INVALID_ARGUMENT, an array unlike the first one.
class SampleMaker {
 public:
  SampleMaker(const StreamSpec* spec, const BatchLayout* layout,
              CachedDecoder* decoder)
      : spec_(spec), layout_(layout), decoder_(decoder) {}

  // Makes the sample, unless its batch is abandoned; or finds that it is too
  // large for the workspace.
  void Make(ReadSample* sample, pipeline::Workspace& workspace) const;
  // Puts the sample on the desk of the user's code, if it is not there yet.
  void LayOnDesk(ReadSample* sample, pipeline::Workspace& workspace) const;
  // Makes the sample of what the user's code left on its desk.
  void TakeFromDesk(ReadSample* sample, pipeline::Workspace& workspace) const;

  // Adds the sample to an error that names its object.
  absl::Status AnnotateError(const PendingSample& pending,
                             const absl::Status& status) const;

 private:
  class Row;

  absl::Status Decode(const PendingSample& pending,
                      absl::Span<const std::uint8_t> read,
                      pipeline::Workspace& workspace) const;
  pipeline::SampleKey KeyOf(const PendingSample& pending) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  CachedDecoder* const decoder_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
