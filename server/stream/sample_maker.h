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
#include "server/stream/form_choice.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Makes the samples of a stream: what was read becomes an image and other
// fields in their place of the slot. Immutable and thread-safe, each caller
// with a workspace of its own. Spec, layout and the choice of forms
// belong to the stream, which outlives it. Make computes for as long as
// decoding takes. Errors name the sample, the object and the reason: those of
// Pipeline::Run and of the other fields' decoders; INVALID_ARGUMENT: an array
// unlike sample 0's.
class SampleMaker {
 public:
  SampleMaker(const StreamSpec* spec, const BatchLayout* layout,
              FormChoice* forms)
      : spec_(spec), layout_(layout), forms_(forms) {}

  // `bytes` are what was read, in the place's form.
  absl::Status Make(const Place& place, absl::Span<const std::uint8_t> bytes,
                    pipeline::Workspace& workspace) const;

  // Names the sample of an error that names its object.
  absl::Status Blame(const Place& place, const absl::Status& status) const;

 private:
  pipeline::SampleKey KeyOf(const Place& place) const;
  absl::Status MakeField(const Place& place, std::size_t field,
                         const dataset::Part& part,
                         absl::Span<const std::uint8_t> read,
                         pipeline::Workspace& workspace) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  FormChoice* const forms_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_MAKER_H_
