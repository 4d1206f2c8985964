#include "server/stream/read_request_builder.h"

namespace forebay::stream {

storage::ReadRequest ReadRequestBuilder::RequestFor(PendingSample* pending,
                                                    const Member& payer) {
  storage::ReadRequest request = BytesOf(*pending, payer);
  pending->length = request.length;
  pending->held = storage::HeldBytes(request.length);
  pending->variant = storage::kEncoded;
  request.variant = variant_;
  AddHints(*pending, &request);
  return request;
}

std::optional<storage::ReadRequest> ReadRequestBuilder::RequestAgain(
    const PendingSample& pending, const Member& payer) const {
  storage::ReadRequest request = BytesOf(pending, payer);
  if (request.root->identity() == nullptr) return std::nullopt;
  // The first request asked the cache for this variant, and the cache joins
  // only equal requests.
  request.variant = variant_;
  request.done = [](const absl::StatusOr<storage::ReadResult>&) {};
  return request;
}

storage::ReadRequest ReadRequestBuilder::BytesOf(const PendingSample& pending,
                                                 const Member& payer) const {
  storage::ReadRequest request = identity_.RequestFor(pending.id);
  const Batch& batch = *pending.batch;
  const std::uint64_t begin = batch.key.first_sample;
  request.purpose.job = payer.terms().flow;
  request.purpose.urgency = payer.UrgencyAt(begin);
  // The next use is counted from the end of this batch.
  const auto samples =
      batch.epochs->SamplesUntil(pending.id, begin + batch.samples.size());
  if (samples.has_value())
    request.purpose.next_use_nanos = payer.pace().TimeOf(*samples);
  return request;
}

void ReadRequestBuilder::AddHints(const PendingSample& pending,
                                  storage::ReadRequest* request) {
  const sampler::EpochOrder& order = pending.batch->epochs->current;
  if (!order.BlockOf(pending.id).has_value()) return;
  // Consecutive samples of a composed dataset need not lie side by side.
  if (!identity_.is_own()) return;
  const std::uint64_t position =
      pending.batch->key.first_sample + pending.index;
  // Substitutes, and samples repeated behind the epoch's end, are not read
  // together with their neighbours.
  if (order.PositionOf(pending.id) != position) return;
  request->read_ahead_hints = ReadAheadHintsOf(order);
  request->neighbours_due = order.DueAt(position).has_value();
}

std::shared_ptr<const BlockReadAheadHints> ReadRequestBuilder::ReadAheadHintsOf(
    const sampler::EpochOrder& order) {
  auto& hints = read_ahead_hints_[order.epoch() % read_ahead_hints_.size()];
  if (hints == nullptr || hints->epoch() != order.epoch()) {
    hints = std::make_shared<const BlockReadAheadHints>(
        spec_->dataset, identity_.number(0), order);
  }
  return hints;
}

}  // namespace forebay::stream
