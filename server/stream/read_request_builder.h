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
// the urgency, and hints of what else to read ahead. Not thread-safe: the
// stream guards it. The spec outlives it. Never blocks; no errors.
class ReadRequestBuilder {
 public:
  // `variant` is the one that reads prefer.
  ReadRequestBuilder(const StreamSpec* spec, storage::Variant variant)
      : spec_(spec), variant_(variant), identity_(spec->dataset.get()) {}

  // Fills in what the dataset says of the sample, which is read for its batch's
  // sponsor. The caller adds `done`.
  storage::ReadRequest RequestFor(PendingSample* pending,
                                  const Member& sponsor);
  // The same request once more, while the first is in flight, for members that
  // came later: a cache joins the two, and the caller drops this one's result.
  // Returns nullopt if no cache keeps that root, so that it would be read
  // twice.
  std::optional<storage::ReadRequest> RequestAgain(const PendingSample& pending,
                                                   const Member& sponsor) const;

 private:
  // The sample's bytes, without hints.
  storage::ReadRequest BytesOf(const PendingSample& pending,
                               const Member& sponsor) const;
  // Adds the read-ahead hints, if the order has blocks.
  void AddHints(const PendingSample& pending, storage::ReadRequest* request);
  std::shared_ptr<const BlockReadAheadHints> ReadAheadHintsOf(
      const sampler::EpochOrder& order);

  const StreamSpec* const spec_;
  const storage::Variant variant_;
  const sample::SampleIdentity identity_;
  // The last two epochs'.
  std::array<std::shared_ptr<const BlockReadAheadHints>, 2> read_ahead_hints_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_
