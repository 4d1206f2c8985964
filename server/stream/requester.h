#ifndef FOREBAY_SERVER_STREAM_REQUESTER_H_
#define FOREBAY_SERVER_STREAM_REQUESTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "server/sampler/sampler.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/block_neighbourhood.h"
#include "server/stream/member.h"
#include "server/stream/provenance.h"
#include "server/stream/recipe.h"

namespace forebay::stream {

// Says what to read for a place, for whom, how soon it is needed, and who lies
// beside it. Not thread-safe: the stream guards it. The recipe belongs to the
// stream, which outlives it. Never blocks; no errors.
class Requester {
 public:
  // `form`: what samples are preferred in.
  Requester(const Recipe* recipe, storage::Form form)
      : recipe_(recipe), form_(form), provenance_(recipe->dataset.get()) {}

  // Fills in what the dataset says of the place's sample, which is read for its
  // batch's sponsor. The request lacks its `done`.
  storage::ReadRequest RequestFor(Place* place, const Member& sponsor);
  // The same once more, while it is being read, for whoever else wants it: a
  // cache joins the two, and what comes of this one is dropped. Nullopt: none
  // keeps what is read below that root, so that it would be read twice.
  std::optional<storage::ReadRequest> RequestAgain(const Place& place,
                                                   const Member& sponsor) const;

 private:
  // The place's bytes, by themselves.
  storage::ReadRequest BytesOf(const Place& place, const Member& sponsor) const;
  // Says whose neighbour the place's sample is, where the order has blocks.
  void Introduce(const Place& place, storage::ReadRequest* request);
  std::shared_ptr<const BlockNeighbourhood> NeighbourhoodOf(
      const sampler::EpochOrder& order);

  const Recipe* const recipe_;
  const storage::Form form_;
  const Provenance provenance_;
  // Of the epochs that were asked about last.
  std::array<std::shared_ptr<const BlockNeighbourhood>, 2> neighbourhoods_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_REQUESTER_H_
