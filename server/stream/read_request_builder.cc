#include "server/stream/read_request_builder.h"

#include <utility>

namespace forebay::stream {

storage::ReadRequest ReadRequestBuilder::RequestFor(Place* place,
                                                    const Member& sponsor) {
  storage::ReadRequest request = BytesOf(*place, sponsor);
  place->length = request.length;
  place->held = storage::HeldBytes(request.length);
  place->form = storage::kEncoded;
  request.form = form_;
  request.given = &place->form;
  request.seen = &place->revision;
  Introduce(*place, &request);
  return request;
}

std::optional<storage::ReadRequest> ReadRequestBuilder::RequestAgain(
    const Place& place, const Member& sponsor) const {
  storage::ReadRequest request = BytesOf(place, sponsor);
  if (request.root->identity() == nullptr) return std::nullopt;
  // The cache may be asking whether it still has this form.
  const auto given = std::make_shared<storage::Form>(storage::kEncoded);
  request.form = form_;
  request.given = given.get();
  request.done = [given](const absl::StatusOr<base::Bytes>&) {};
  return request;
}

storage::ReadRequest ReadRequestBuilder::BytesOf(const Place& place,
                                                 const Member& sponsor) const {
  dataset::Sample source = spec_->dataset->At(place.id);
  storage::ReadRequest request;
  request.root = provenance_.RootOf(place.id);
  request.object = std::move(source.object);
  request.version = source.version;
  request.layout = std::move(source.layout);
  request.offset = source.offset;
  request.length = source.length;
  request.sample = provenance_.RefOf(place.id);
  const Batch& batch = *place.batch;
  const std::uint64_t begin = batch.key.first_sample;
  request.purpose.job = sponsor.terms().flow;
  request.purpose.urgency = sponsor.UrgencyAt(begin);
  // Not in this batch, but after it.
  const auto samples =
      batch.epochs->SamplesUntil(place.id, begin + batch.places.size());
  if (samples.has_value())
    request.purpose.next_use_nanos = sponsor.pace().TimeOf(*samples);
  return request;
}

void ReadRequestBuilder::Introduce(const Place& place,
                                   storage::ReadRequest* request) {
  const sampler::EpochOrder& order = place.batch->epochs->current;
  if (!order.BlockOf(place.id).has_value()) return;
  // What stands side by side in one that is made of others need not lie so.
  if (!provenance_.is_own()) return;
  const std::uint64_t position = place.batch->key.first_sample + place.index;
  // A substitute, and what is seen once more behind the epoch's end, stand
  // where their neighbours do not.
  if (order.PositionOf(place.id) != position) return;
  request->neighbourhood = NeighbourhoodOf(order);
  request->neighbours_due = order.DueAt(position).has_value();
}

std::shared_ptr<const BlockNeighbourhood> ReadRequestBuilder::NeighbourhoodOf(
    const sampler::EpochOrder& order) {
  auto& kept = neighbourhoods_[order.epoch() % neighbourhoods_.size()];
  if (kept == nullptr || kept->epoch() != order.epoch()) {
    kept = std::make_shared<const BlockNeighbourhood>(
        spec_->dataset, provenance_.number(0), order);
  }
  return kept;
}

}  // namespace forebay::stream
