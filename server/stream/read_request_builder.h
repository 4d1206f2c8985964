#ifndef FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_
#define FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "server/sample/sample_identity.h"
#include "server/sampler/sampler.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/block_read_ahead_hints.h"
#include "server/stream/member.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Builds the read request of a pending sample: its bytes, the job that pays,
// the urgency, and hints of what else to read ahead.
//
// Not thread-safe: the stream guards it. The spec outlives it. Shares the hints
// with the requests. Never blocks. No errors.
class ReadRequestBuilder {
 public:
  // `variant` is the variant that reads prefer.
  ReadRequestBuilder(const StreamSpec* spec, storage::Variant variant)
      : spec_(spec), variant_(variant), identity_(spec->dataset.get()) {}

  // Returns the request to read a sample for `payer`, its batch's payer. Also
  // sets the sample's `length`, `held` and `variant`. The caller sets the
  // request's `done`.
  storage::ReadRequest RequestFor(PendingSample* pending, const Member& payer);
  // Returns a second request for the bytes of a sample whose read is in flight,
  // so that members that came later pay a part. The cache joins the request to
  // the first read; the result of the second is dropped. Returns nullopt if the
  // dataset's root may not be cached: nothing would join the two requests.
  std::optional<storage::ReadRequest> RequestAgain(const PendingSample& pending,
                                                   const Member& payer) const;

 private:
  // Returns the request without hints.
  storage::ReadRequest BytesOf(const PendingSample& pending,
                               const Member& payer) const;
  // Adds read-ahead hints, if the order has blocks.
  void AddHints(const PendingSample& pending, storage::ReadRequest* request);
  // Returns the hints of an epoch, made once for each epoch.
  std::shared_ptr<const BlockReadAheadHints> ReadAheadHintsOf(
      const sampler::EpochOrder& order);

  const StreamSpec* const spec_;
  const storage::Variant variant_;
  const sample::SampleIdentity identity_;
  // The hints of the last two epochs.
  std::array<std::shared_ptr<const BlockReadAheadHints>, 2> read_ahead_hints_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_
