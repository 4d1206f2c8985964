#include "server/stream/requester.h"

#include <utility>

namespace forebay::stream {

storage::ReadRequest Requester::RequestFor(Place* place,
                                           const ProductionLine& line,
                                           const Pace& pace) {
  dataset::Sample source = recipe_->dataset->At(place->id);
  place->length = source.length;
  place->held = storage::HeldBytes(source.length);
  place->form = storage::kEncoded;
  storage::ReadRequest request;
  request.root = provenance_.RootOf(place->id);
  request.object = std::move(source.object);
  request.version = source.version;
  request.offset = source.offset;
  request.length = source.length;
  request.sample = provenance_.RefOf(place->id);
  request.form = form_;
  request.given = &place->form;
  request.purpose.job = flow_;
  request.purpose.urgency = pace.Urgency(line.Ahead(*place->batch));
  if (const auto samples = line.SamplesUntilReuse(place->id)) {
    request.purpose.next_use_nanos = pace.TimeOf(*samples);
  }
  Introduce(*place, line.order(), &request);
  return request;
}

void Requester::Introduce(const Place& place, const sampler::EpochOrder& order,
                          storage::ReadRequest* request) {
  if (!order.BlockOf(place.id).has_value()) return;
  // What stands side by side in one that is made of others need not lie so.
  if (!provenance_.is_own()) return;
  const std::uint64_t position = place.batch->first_sample + place.index;
  // A substitute, and what is seen once more behind the epoch's end, stand
  // where their neighbours do not.
  if (order.PositionOf(place.id) != position) return;
  if (neighbourhood_ == nullptr || neighbourhood_->epoch() != order.epoch()) {
    neighbourhood_ = std::make_shared<const BlockNeighbourhood>(
        recipe_->dataset, provenance_.number(0), order);
  }
  request->neighbourhood = neighbourhood_;
  request->neighbours_due = order.DueAt(position).has_value();
}

}  // namespace forebay::stream
