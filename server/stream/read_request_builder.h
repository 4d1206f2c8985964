#ifndef FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_
#define FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "server/sampler/sampler.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/block_read_ahead_hints.h"
#include "server/stream/member.h"
#include "server/stream/sample_identity.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Builds the read request of a place: the extent, the jobs, the urgency, and
// the samples beside it that are wanted soon, too. Not thread-safe: the stream
// guards it. The spec belongs to the stream, which outlives it. Never blocks;
// no errors.
class ReadRequestBuilder {
 public:
  // `variant`: the variant in which samples are preferred.
  ReadRequestBuilder(const StreamSpec* spec, storage::Variant variant)
      : spec_(spec), variant_(variant), identity_(spec->dataset.get()) {}

  // Fills in what the dataset says of the place's sample, which is read for
  // its batch's sponsor. The request lacks its `done`.
  storage::ReadRequest RequestFor(PendingSample* pending,
                                  const Member& sponsor);
  // The same request once more, while the first is in flight, for members that
  // came later: a cache joins the two, and the caller drops this one's result.
  // Returns nullopt if no cache keeps that root, so that it would be read
  // twice.
  std::optional<storage::ReadRequest> RequestAgain(const PendingSample& pending,
                                                   const Member& sponsor) const;

 private:
  // The place's bytes, by themselves.
  storage::ReadRequest BytesOf(const PendingSample& pending,
                               const Member& sponsor) const;
  // Adds the place's neighbours, where the order has blocks.
  void Introduce(const PendingSample& pending, storage::ReadRequest* request);
  std::shared_ptr<const BlockReadAheadHints> ReadAheadHintsOf(
      const sampler::EpochOrder& order);

  const StreamSpec* const spec_;
  const storage::Variant variant_;
  const SampleIdentity identity_;
  // Of the last two epochs.
  std::array<std::shared_ptr<const BlockReadAheadHints>, 2> read_ahead_hints_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_REQUEST_BUILDER_H_
