#include "server/stream/requester.h"

#include <utility>

namespace forebay::stream {

storage::ReadRequest Requester::RequestFor(Place* place,
                                           const ProductionLine& line,
                                           const Pace& pace) const {
  dataset::Sample source = recipe_->dataset->At(place->id);
  place->held = storage::HeldBytes(source.length);
  place->label = source.label;
  storage::ReadRequest request;
  request.root = recipe_->dataset->root();
  request.object = std::move(source.object);
  request.version = source.version;
  request.offset = source.offset;
  request.length = source.length;
  request.purpose.job = flow_;
  request.purpose.urgency = line.Ahead(*place->batch);
  if (const auto samples = line.SamplesUntilReuse(place->id)) {
    request.purpose.next_use_nanos = pace.TimeOf(*samples);
  }
  return request;
}

}  // namespace forebay::stream
