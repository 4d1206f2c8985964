#ifndef FOREBAY_SERVER_STREAM_FORM_CHOICE_H_
#define FOREBAY_SERVER_STREAM_FORM_CHOICE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/cache/form_keeper.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/form_costs.h"
#include "server/stream/provenance.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// The number of the form of its images that a stream can use; kEncoded: none.
storage::Form FormNumber(const StreamSpec& spec);

// Makes a stream's images, from their form where the cache has that, and offers
// it the form where it has not: then more is decoded than this stream needs,
// for whoever wants the sample next. The image is the same either way. Where
// the order is coordinated, the coordinator is told.
//
// In that form, a sample's bytes are the image's raw form; if other fields are
// read from them too, behind all that was read.
//
// Thread-safe, each caller with a workspace of its own. The spec belongs to
// the stream, which outlives it, as the keeper does. Make computes for as long
// as decoding takes. Errors: those of Pipeline::Run.
class FormChoice {
 public:
  // `keeper` null: nothing is kept but what was read.
  FormChoice(const StreamSpec* spec, cache::FormKeeper* keeper);

  // What requests prefer; kEncoded where there is no choice.
  storage::Form form() const { return form_; }

  // Makes the image of the place's sample. `bytes` are what was read, in the
  // place's form; `image` is where it lies in them if they are encoded. An
  // image that wants a larger workspace counts when it is made in that.
  absl::Status Make(const Place& place, const pipeline::SampleKey& key,
                    absl::Span<const std::uint8_t> bytes,
                    const dataset::Part& image, pipeline::Workspace& workspace,
                    absl::Span<std::uint8_t> room);

 private:
  class Offer;

  storage::ReadRequest RequestOf(std::uint64_t sample) const;
  void TellMissed(const Place& place) const;
  void TellKept(const Place& place, std::uint64_t bytes) const;

  const StreamSpec* const spec_;
  cache::FormKeeper* const keeper_;
  const Provenance provenance_;
  bool has_other_parts_ = false;
  storage::Form form_ = storage::kEncoded;
  FormCosts costs_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FORM_CHOICE_H_
