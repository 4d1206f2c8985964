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
  const std::uint64_t left = samples - key.first_sample;
  if (left < batch_size_ && drop_last_) return 0;
  return std::min(left, batch_size_);
}

std::optional<std::uint64_t> Cursor::BatchesUntil(const BatchKey& key) const {
  if (!running_ || key.epoch != epoch() || key.first_sample < next_sample_)
    return std::nullopt;
  const std::uint64_t samples = key.first_sample - next_sample_;
  if (samples % batch_size_ != 0) return std::nullopt;
  return samples / batch_size_;
}

}  // namespace forebay::stream
