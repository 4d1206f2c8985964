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
#include "server/stream/recipe.h"

namespace forebay::stream {

// The number that all who read the same dataset through the same root know it
// by; 0 if what is read through that root is not shared. Two datasets of one
// number would mislead the cache about when samples are wanted, and do no
// other harm.
std::uint64_t DatasetNumber(const dataset::Dataset& dataset);

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
        dataset_number_(DatasetNumber(*recipe->dataset)) {}

  std::uint64_t dataset_number() const { return dataset_number_; }

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
  const std::uint64_t dataset_number_;
  // Of the epoch that was asked about last.
  std::shared_ptr<const BlockNeighbourhood> neighbourhood_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_REQUESTER_H_
