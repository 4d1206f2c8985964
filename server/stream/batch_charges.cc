#include "server/stream/batch_charges.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

void BatchCharges::MembersChanged() {
  Flows flows = members_->Flows();
  if (!flows.empty()) flows_ = std::move(flows);
}

void BatchCharges::Update(StreamPlan* plan) {
  for (const std::unique_ptr<Batch>& batch : in_flight_->batches()) {
    const Flows capped = members_->CappedFlows(batch->key);
    batch->capped = !capped.empty();
    const Flows& charged = batch->capped ? capped : flows_;
    if (charged != batch->charged) Charge(batch.get(), charged, plan);
  }
}

void BatchCharges::Charge(Batch* batch, const Flows& charged,
                          StreamPlan* plan) {
  const Flows before = std::exchange(batch->charged, charged);
  // A batch that was not charged before has no requested samples.
  if (before.empty()) return;
  large_->Charge(batch, charged);
  tasks_->Move(*batch, before, charged);
  while (auto task = tasks_->Next(charged))
    plan->tasks.push_back(*std::move(task));
  const auto is_new = [&before](schedule::Flow flow) {
    return std::find(before.begin(), before.end(), flow) == before.end();
  };
  if (std::none_of(charged.begin(), charged.end(), is_new)) return;
  // A cap, or a limit of stalled reads, may hold up the reads of the first
  // payers. In the cache, a second request for the same bytes joins the first,
  // and its payers pay a part.
  ReadPayers payers;
  for (const PendingSample& pending : batch->samples) {
    if (!pending.reading) continue;
    auto again =
        prefetcher_->RequestAgain(pending, *members_->Find(batch->payer));
    if (!again.has_value()) continue;
    payers.Charge(charged, &*again);
    plan->requests.push_back(*std::move(again));
  }
}

}  // namespace forebay::stream
