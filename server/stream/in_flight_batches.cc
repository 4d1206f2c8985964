#include "server/stream/in_flight_batches.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"
#include "server/base/philox.h"

namespace forebay::stream {
namespace {

// The most corrupt samples that are replaced, one after the other, in one row
// of a batch. If the last replacement is corrupt too, the row gets its error.
constexpr std::uint32_t kMaxSubstitutions = base::kMaxSubstitutions;

// Returns the sample that replaces a corrupt one, after `before` other
// replacements were corrupt too. Each replacement is drawn from a random stream
// of its own that no op uses. If all came from one stream, samples that replace
// one another would recur for ever.
std::uint64_t SubstituteFor(std::uint64_t seed, std::uint64_t epoch,
                            std::uint64_t sample, std::uint32_t before,
                            std::uint64_t dataset_size) {
  const auto stream =
      static_cast<std::uint16_t>(base::kSubstitutionStreams - before);
  return base::PhiloxStream(seed, epoch, sample, stream)
      .UniformInt(dataset_size);
}

}  // namespace

InFlightBatches::InFlightBatches(const BatchOptions& batch, std::uint64_t seed,
                                 std::uint64_t dataset_size,
                                 const BatchLayout* layout,
                                 const SampleRoom* room)
    : batch_(batch),
      seed_(seed),
      dataset_size_(dataset_size),
      layout_(layout),
      room_(room) {
  FOREBAY_CHECK(batch.size > 0);
}

Batch* InFlightBatches::Begin(const BatchKey& key, std::uint64_t samples,
                              std::shared_ptr<const EpochPair> epochs,
                              slots::MemberId payer, std::uint32_t slot,
                              std::uint8_t* host) {
  FOREBAY_CHECK(samples > 0 && Find(key) == nullptr);
  auto batch = std::make_unique<Batch>();
  batch->key = key;
  batch->payer = payer;
  batch->payers = {payer};
  batch->slot = slot;
  batch->memory.host = host;
  batch->remaining = static_cast<std::uint32_t>(samples);
  batch->samples.resize(samples);
  for (std::uint64_t i = 0; i < samples; ++i) {
    PendingSample& pending = batch->samples[i];
    pending.batch = batch.get();
    pending.index = static_cast<std::uint32_t>(i);
    pending.id = epochs->current.SampleAt(key.first_sample + i);
    pending.repeat = epochs->current.RepeatsBefore(key.first_sample + i);
  }
  if (room_ != nullptr) GiveRoom(*batch);
  batch->epochs = std::move(epochs);
  batches_.push_back(std::move(batch));
  return batches_.back().get();
}

// The room fits only these samples. A stream that may substitute samples
// therefore has no SampleRoom.
void InFlightBatches::GiveRoom(Batch& batch) const {
  const std::size_t fields = room_->fields();
  std::vector<std::uint64_t> bytes(batch.samples.size() * fields);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    room_->BytesOf(batch.samples[i].id,
                   absl::MakeSpan(bytes).subspan(i * fields, fields));
  }
  batch.starts = layout_->StartsFor(bytes);
  batch.memory.starts = batch.starts;
}

const Batch* InFlightBatches::Find(const BatchKey& key) const {
  const auto found =
      std::find_if(batches_.begin(), batches_.end(),
                   [&](const auto& batch) { return batch->key == key; });
  return found == batches_.end() ? nullptr : found->get();
}

bool InFlightBatches::Hangs(std::int64_t now_nanos) const {
  const auto hangs = [&](const std::unique_ptr<Batch>& batch) {
    return batch->HangsAt(now_nanos);
  };
  return !empty() && std::all_of(batches_.begin(), batches_.end(), hangs);
}

std::uint32_t InFlightBatches::CountPaidBy(slots::MemberId payer) const {
  const auto is_its = [&](const std::unique_ptr<Batch>& batch) {
    return batch->payer == payer;
  };
  return static_cast<std::uint32_t>(
      std::count_if(batches_.begin(), batches_.end(), is_its) +
      std::count_if(abandoned_.begin(), abandoned_.end(), is_its));
}

std::uint32_t InFlightBatches::Copying() const {
  return static_cast<std::uint32_t>(
      std::count_if(batches_.begin(), batches_.end(),
                    [](const auto& batch) { return batch->copying > 0; }));
}

std::size_t InFlightBatches::waiting() const {
  std::size_t waiting = put_back_.size();
  for (const std::unique_ptr<Batch>& batch : batches_) {
    waiting += batch->samples.size() - batch->handed_out;
  }
  return waiting;
}

PendingSample* InFlightBatches::Next(bool capped) {
  const auto may = [capped](const Batch& batch) {
    return capped || !batch.capped;
  };
  const auto back = std::find_if(
      put_back_.begin(), put_back_.end(),
      [&](const PendingSample* pending) { return may(*pending->batch); });
  if (back != put_back_.end()) {
    PendingSample* const pending = *back;
    put_back_.erase(back);
    return pending;
  }
  for (const std::unique_ptr<Batch>& batch : batches_) {
    if (batch->handed_out < batch->samples.size() && may(*batch)) {
      return &batch->samples[batch->handed_out++];
    }
  }
  return nullptr;
}

void InFlightBatches::PutBack(PendingSample* pending) {
  put_back_.push_front(pending);
}

bool InFlightBatches::Substitute(PendingSample& pending,
                                 const absl::Status& status) {
  if (!batch_.substitute || pending.batch->abandoned) {
    return false;
  }
  // A sample is replaced only if its bytes are at fault: they are corrupt, or
  // an image exceeds the limits. A passing fault, a file that changed, or an op
  // that does not fit the data is not a reason.
  if (!absl::IsDataLoss(status) && !absl::IsResourceExhausted(status)) {
    return false;
  }
  if (pending.substitutions == kMaxSubstitutions) return false;
  const std::uint32_t before = pending.substitutions++;
  // A list may leave out samples that must not be seen, for example for
  // validation. The replacement of a listed sample therefore comes from the
  // list.
  const sampler::EpochOrder& order = pending.batch->epochs->current;
  const std::uint64_t choice =
      order.is_listed() ? order.samples() : dataset_size_;
  const std::uint64_t chosen = SubstituteFor(seed_, pending.batch->key.epoch,
                                             pending.id, before, choice);
  pending.id = order.is_listed() ? order.SampleAt(chosen) : chosen;
  put_back_.push_back(&pending);
  return true;
}

bool InFlightBatches::ReadAgain(PendingSample& pending) {
  if (pending.batch->abandoned) return false;
  put_back_.push_back(&pending);
  return true;
}

Batch* InFlightBatches::Finish(const PendingSample& pending,
                               const absl::Status& status,
                               slots::SlotPool& pool) {
  Batch& batch = *pending.batch;
  if (!status.ok() &&
      (batch.status.ok() || pending.index < batch.failed_place)) {
    batch.status = status;
    batch.failed_place = pending.index;
  }
  if (--batch.remaining > 0) return nullptr;
  if (!batch.abandoned) return &batch;
  EndIfIdle(&batch, pool);
  return nullptr;
}

bool InFlightBatches::FinishCopy(Batch* batch, slots::SlotPool& pool) {
  --batch->copying;
  if (!batch->abandoned) return true;
  EndIfIdle(batch, pool);
  return false;
}

void InFlightBatches::ForgetCopiesOn(const device::Device* device) {
  for (const std::unique_ptr<Batch>& batch : batches_) {
    for (BatchCopy& copy : batch->copies)
      if (copy.device == device) copy.device = nullptr;
  }
}

std::unique_ptr<Batch> InFlightBatches::Remove(const Batch* batch) {
  const auto found =
      std::find_if(batches_.begin(), batches_.end(),
                   [&](const auto& other) { return other.get() == batch; });
  FOREBAY_CHECK(found != batches_.end());
  std::unique_ptr<Batch> removed = std::move(*found);
  batches_.erase(found);
  return removed;
}

void InFlightBatches::EndIfIdle(const Batch* abandoned, slots::SlotPool& pool) {
  if (abandoned->remaining + abandoned->copying > 0) return;
  pool.Abandon(abandoned->slot);
  std::erase_if(abandoned_,
                [&](const auto& other) { return other.get() == abandoned; });
}

void InFlightBatches::Retire(
    slots::MemberId payer,
    const std::function<std::optional<slots::MemberId>(const BatchKey&)>& heir,
    slots::SlotPool& pool) {
  std::deque<std::unique_ptr<Batch>> kept;
  for (std::unique_ptr<Batch>& batch : batches_) {
    const auto heir_of =
        batch->payer == payer ? heir(batch->key) : std::optional(batch->payer);
    if (heir_of.has_value()) {
      batch->payer = *heir_of;
      kept.push_back(std::move(batch));
    } else {
      Abandon(std::move(batch), pool);
    }
  }
  batches_ = std::move(kept);
}

void InFlightBatches::Abandon(std::unique_ptr<Batch> batch,
                              slots::SlotPool& pool) {
  batch->abandoned = true;
  batch->remaining -= static_cast<std::uint32_t>(
      std::erase_if(put_back_, [&](const PendingSample* pending) {
        return pending->batch == batch.get();
      }));
  const auto count = static_cast<std::uint32_t>(batch->samples.size());
  batch->remaining -= count - std::exchange(batch->handed_out, count);
  abandoned_.push_back(std::move(batch));
  EndIfIdle(abandoned_.back().get(), pool);
}

}  // namespace forebay::stream
