#ifndef FOREBAY_SERVER_STREAM_REQUESTER_H_
#define FOREBAY_SERVER_STREAM_REQUESTER_H_

#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/pace.h"
#include "server/stream/production_line.h"
#include "server/stream/recipe.h"

namespace forebay::stream {

// Says what to read for a place, for whom, and how soon it is needed. Immutable
// and thread-safe. The recipe belongs to the stream, which outlives it. Never
// blocks; no errors.
class Requester {
 public:
  Requester(const Recipe* recipe, schedule::Flow flow)
      : recipe_(recipe), flow_(flow) {}

  // Fills in what the dataset says of the place's sample. The request lacks its
  // `done`.
  storage::ReadRequest RequestFor(Place* place, const ProductionLine& line,
                                  const Pace& pace) const;

 private:
  const Recipe* const recipe_;
  const schedule::Flow flow_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_REQUESTER_H_
