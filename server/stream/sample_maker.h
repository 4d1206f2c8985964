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
// is put into the sample's user-code buffer, and the code's result is taken
// from there.
//
// Immutable and thread-safe, if each caller has a workspace of its own. Owns
// nothing; spec, layout and decoder outlive it. Does not wait, and computes for
// as long as decoding takes. Errors are set in the samples: those of
// sample::DecodeFields and CachedDecoder; INVALID_ARGUMENT if an array does not
// have the type of the first sample's.
class SampleMaker {
 public:
  SampleMaker(const StreamSpec* spec, const BatchLayout* layout,
              CachedDecoder* decoder)
      : spec_(spec), layout_(layout), decoder_(decoder) {}

  // Makes the sample, unless its batch is abandoned. Sets `too_large` instead
  // if the sample needs more than the workspace has.
  void Make(ReadSample* sample, pipeline::Workspace& workspace) const;
  // Makes the fields of the sample, and puts its image into its user-code
  // buffer. Does nothing if that was done before (`laid`).
  void PutInUserBuffer(ReadSample* sample,
                       pipeline::Workspace& workspace) const;
  // Completes the sample from the result that the user's code left in its
  // user-code buffer.
  void TakeFromUserBuffer(ReadSample* sample,
                          pipeline::Workspace& workspace) const;

  // Returns the error with the sample's number added to it.
  absl::Status AnnotateError(const PendingSample& pending,
                             const absl::Status& status) const;

 private:
  class Row;

  // Decodes all fields of the sample from what was read.
  absl::Status Decode(const PendingSample& pending,
                      absl::Span<const std::uint8_t> read,
                      pipeline::Workspace& workspace) const;
  // Returns the key of the sample's random draws.
  pipeline::SampleKey KeyOf(const PendingSample& pending) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  CachedDecoder* const decoder_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
