#include "server/stream/cursor.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::stream {

void Cursor::Start(std::shared_ptr<const EpochPair> epochs,
                   std::uint64_t first_sample) {
  FOREBAY_CHECK(!running_ && first_sample <= epochs->samples());
  epochs_ = std::move(epochs);
  next_sample_ = first_sample;
  running_ = true;
}

std::uint64_t Cursor::SamplesOf(const BatchKey& key) const {
  const std::uint64_t samples = epochs_->samples();
  if (key.first_sample >= samples) return 0;
  const sampler::LengthOrder* const by_length = epochs_->current.by_length();
  if (by_length_ && by_length != nullptr)
    return by_length->EndOfBatch(key.first_sample) - key.first_sample;
  const std::uint64_t left = samples - key.first_sample;
  if (left < batch_size_ && drop_last_) return 0;
  return std::min(left, batch_size_);
}

std::optional<std::uint64_t> Cursor::BatchesUntil(const BatchKey& key) const {
  if (!running_ || key.epoch != epoch() || key.first_sample < next_sample_)
    return std::nullopt;
  const sampler::LengthOrder* const by_length = epochs_->current.by_length();
  if (by_length_ && by_length != nullptr)
    return by_length->BatchesBetween(next_sample_, key.first_sample);
  const std::uint64_t samples = key.first_sample - next_sample_;
  if (samples % batch_size_ != 0) return std::nullopt;
  return samples / batch_size_;
}

}  // namespace forebay::stream
