#include "server/stream/production_line.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"
#include "server/base/philox.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kMaxSubstitutions = 16;

// The sample that stands in for a corrupt one: drawn from a stream of random
// numbers that no op uses.
std::uint64_t SubstituteFor(std::uint64_t seed, std::uint64_t epoch,
                            std::uint64_t sample, std::uint64_t dataset_size) {
  constexpr std::uint16_t kSubstitution = 0xFFFF;
  return base::PhiloxStream(seed, epoch, sample, kSubstitution)
      .UniformInt(dataset_size);
}

}  // namespace

ProductionLine::ProductionLine(const sampler::Sampler& sampler,
                               const proto::BatchSpec& batch,
                               std::uint64_t seed, std::uint64_t dataset_size)
    : sampler_(sampler),
      batch_(batch),
      seed_(seed),
      dataset_size_(dataset_size),
      order_(sampler.Epoch(0)),
      next_order_(sampler.After(order_)),
      next_sample_(order_.samples()) {
  FOREBAY_CHECK(batch.batch_size() > 0);
}

std::uint64_t ProductionLine::batches_per_epoch() const {
  const std::uint64_t samples = order_.samples();
  const std::uint64_t size = batch_.batch_size();
  return batch_.drop_last() ? samples / size : (samples + size - 1) / size;
}

void ProductionLine::Start(std::uint64_t epoch, std::uint64_t first_sample,
                           std::shared_ptr<const base::IndexList> list) {
  FOREBAY_CHECK(batches_.empty());
  order_ = sampler_.Epoch(epoch, std::move(list));
  FOREBAY_CHECK(first_sample <= order_.samples());
  next_order_ = sampler_.After(order_);
  next_sample_ = first_sample;
}

bool ProductionLine::LeavesTailOut() const {
  return batch_.drop_last() && samples_left() < batch_.batch_size();
}

void ProductionLine::Begin(arena::SlotPool& pool, std::size_t most) {
  while (HasMore() && batches_.size() < most) {
    const auto slot = pool.Take();
    if (!slot.has_value()) return;
    const std::uint64_t count =
        std::min<std::uint64_t>(batch_.batch_size(), samples_left());
    auto batch = std::make_unique<Batch>();
    batch->slot = *slot;
    batch->data = pool.data(*slot);
    batch->epoch = epoch();
    batch->first_sample = next_sample_;
    batch->remaining = static_cast<std::uint32_t>(count);
    batch->places.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      Place& place = batch->places[i];
      place.batch = batch.get();
      place.index = static_cast<std::uint32_t>(i);
      place.id = order_.SampleAt(next_sample_ + i);
      place.repeat = order_.RepeatsBefore(next_sample_ + i);
    }
    next_sample_ += count;
    batches_.push_back(std::move(batch));
  }
}

std::size_t ProductionLine::waiting() const {
  std::size_t waiting = put_back_.size();
  for (const std::unique_ptr<Batch>& batch : batches_) {
    waiting += batch->places.size() - batch->handed_out;
  }
  return waiting;
}

Place* ProductionLine::Next() {
  if (!put_back_.empty()) {
    Place* const place = put_back_.front();
    put_back_.pop_front();
    return place;
  }
  for (const std::unique_ptr<Batch>& batch : batches_) {
    if (batch->handed_out < batch->places.size()) {
      return &batch->places[batch->handed_out++];
    }
  }
  return nullptr;
}

void ProductionLine::PutBack(Place* place) { put_back_.push_front(place); }

bool ProductionLine::Substitute(Place& place, const absl::Status& status) {
  if (batch_.on_error() != proto::BatchSpec::SUBSTITUTE ||
      place.batch->abandoned) {
    return false;
  }
  // Only what the bytes themselves are to blame for: corrupt ones, and images
  // larger than the limits. Neither a passing fault, nor a file that changed,
  // nor an op that does not fit the data.
  if (!absl::IsDataLoss(status) && !absl::IsResourceExhausted(status)) {
    return false;
  }
  if (place.substitutions == kMaxSubstitutions) return false;
  ++place.substitutions;
  // A list may leave out what is not to be seen: validation samples, say.
  const std::uint64_t choice =
      order_.is_listed() ? order_.samples() : dataset_size_;
  const std::uint64_t chosen =
      SubstituteFor(seed_, place.batch->epoch, place.id, choice);
  place.id = order_.is_listed() ? order_.SampleAt(chosen) : chosen;
  put_back_.push_back(&place);
  return true;
}

void ProductionLine::Finish(const Place& place, const absl::Status& status,
                            arena::SlotPool& pool) {
  Batch& batch = *place.batch;
  if (!status.ok() && (batch.status.ok() || place.index < batch.failed_place)) {
    batch.status = status;
    batch.failed_place = place.index;
  }
  if (--batch.remaining > 0 || !batch.abandoned) return;
  pool.Abandon(batch.slot);
  std::erase_if(abandoned_, [&](const std::unique_ptr<Batch>& abandoned) {
    return abandoned.get() == &batch;
  });
}

std::unique_ptr<Batch> ProductionLine::TakeComplete() {
  if (batches_.empty() || batches_.front()->remaining > 0) return nullptr;
  std::unique_ptr<Batch> batch = std::move(batches_.front());
  batches_.pop_front();
  return batch;
}

bool ProductionLine::Exhausted() const {
  return batches_.empty() && !HasMore();
}

std::optional<std::uint64_t> ProductionLine::SamplesUntilReuse(
    std::uint64_t sample) const {
  const auto position = next_order_.PositionOf(sample);
  if (!position.has_value()) return std::nullopt;
  return samples_left() + *position;
}

void ProductionLine::Abandon(arena::SlotPool& pool) {
  for (const Place* place : put_back_) --place->batch->remaining;
  put_back_.clear();
  for (std::unique_ptr<Batch>& batch : batches_) {
    batch->abandoned = true;
    const auto count = static_cast<std::uint32_t>(batch->places.size());
    batch->remaining -= count - std::exchange(batch->handed_out, count);
    if (batch->remaining == 0) {
      pool.Abandon(batch->slot);
    } else {
      abandoned_.push_back(std::move(batch));
    }
  }
  batches_.clear();
  next_sample_ = order_.samples();
}

}  // namespace forebay::stream
