#ifndef FOREBAY_SERVER_STREAM_REQUESTER_H_
#define FOREBAY_SERVER_STREAM_REQUESTER_H_

#include <cstdint>
#include <memory>

#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/block_neighbourhood.h"
#include "server/stream/pace.h"
#include "server/stream/production_line.h"
#include "server/stream/provenance.h"
#include "server/stream/recipe.h"

namespace forebay::stream {

// Says what to read for a place, for whom, how soon it is needed, and who lies
// beside it. Not thread-safe: the stream guards it. The recipe belongs to the
// stream, which outlives it. Never blocks; no errors.
class Requester {
 public:
  // `form`: what samples are preferred in.
  Requester(const Recipe* recipe, storage::Form form, schedule::Flow flow)
      : recipe_(recipe),
        form_(form),
        flow_(flow),
        provenance_(recipe->dataset.get()) {}

  // Fills in what the dataset says of the place's sample. The request lacks its
  // `done`.
  storage::ReadRequest RequestFor(Place* place, const ProductionLine& line,
                                  const Pace& pace);

 private:
  // Says whose neighbour the place's sample is, where the order has blocks.
  void Introduce(const Place& place, const sampler::EpochOrder& order,
                 storage::ReadRequest* request);

  const Recipe* const recipe_;
  const storage::Form form_;
  const schedule::Flow flow_;
  const Provenance provenance_;
  // Of the epoch that was asked about last.
  std::shared_ptr<const BlockNeighbourhood> neighbourhood_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_REQUESTER_H_
