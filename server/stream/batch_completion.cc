#include "server/stream/batch_completion.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

void BatchCompletion::Complete(Batch& batch, const Copied& copied,
                               std::int64_t now_nanos) {
  if (!batch.status.ok()) {
    Store(batch, now_nanos);
    return;
  }
  batch.bytes = layout_->Complete(
      batch.memory, {.generation = batch_cache_->pool().generation(batch.slot),
                     .sample_count = batch.samples.size(),
                     .epoch = batch.key.epoch,
                     .first_sample = batch.key.first_sample});
  CopyOrStore(batch, copied, now_nanos);
}

void BatchCompletion::EndCopy(Batch& batch, const CopyEnd& copy,
                              const Copied& copied, std::int64_t now_nanos) {
  batch.copies[copy.number].status = copy.status;
  batch.moved_at_nanos = now_nanos;
  // A copy that was given up may still read the staging memory, so nobody else
  // may get it.
  if (copy.given_up) batch.staging.Discard();
  if (!in_flight_->FinishCopy(&batch, batch_cache_->pool())) return;
  // GPUs may have been attached while the batch was copied.
  if (batch.copying == 0) CopyOrStore(batch, copied, now_nanos);
}

void BatchCompletion::CopyOrStore(Batch& batch, const Copied& copied,
                                  std::int64_t now_nanos) {
  if (layout_->slot_size().device > 0 && StartCopies(batch, copied)) return;
  Store(batch, now_nanos);
}

bool BatchCompletion::StartCopies(Batch& batch, const Copied& copied) const {
  const SlotMemory& memory = batch_cache_->memory();
  const std::uint64_t urgency = members_->UrgencyOf(batch);
  bool started = false;
  for (const DevicePtr& device : memory.attached()) {
    const auto has = [&](const BatchCopy& copy) {
      return copy.device == device.get();
    };
    if (std::any_of(batch.copies.begin(), batch.copies.end(), has)) continue;
    if (batch.staging.memory() == nullptr) {
      batch.copies.push_back(
          {.device = device.get(),
           .status = absl::InternalError(
               "another GPU was lost while a batch was copied to it")});
      continue;
    }
    const std::size_t number = batch.copies.size();
    const absl::Status status = device->copier().Start(
        {.payers = batch.charged,
         .urgency = urgency,
         .to = memory.part(device.get(), batch.slot),
         .from = batch.staging.memory(),
         .bytes = memory.size().device,
         .done = [copied, number, device](const absl::Status& ended) {
           copied({.number = number,
                   .status = device->ForJobs(ended),
                   .given_up =
                       absl::IsDataLoss(ended) || absl::IsCancelled(ended)});
         }});
    started |= status.ok();
    batch.copying += status.ok();
    batch.copies.push_back(
        {.device = device.get(), .status = device->ForJobs(status)});
  }
  return started;
}

void BatchCompletion::Store(Batch& batch, std::int64_t now_nanos) {
  const auto failed = [](const BatchCopy& copy) { return !copy.status.ok(); };
  if (batch.status.ok() && !batch.copies.empty() &&
      std::all_of(batch.copies.begin(), batch.copies.end(), failed))
    batch.status = batch.copies.front().status;
  CompletedBatch completed{.key = batch.key,
                           .slot = batch.slot,
                           .samples = batch.samples.size(),
                           .bytes = batch.bytes,
                           .make_nanos = now_nanos - batch.asked_at_nanos,
                           .status = batch.status,
                           .copies = std::move(batch.copies)};
  if (!batch.status.ok()) batch_cache_->pool().Abandon(batch.slot);
  in_flight_->Remove(&batch);
  batch_cache_->Put(std::move(completed));
}

}  // namespace forebay::stream
