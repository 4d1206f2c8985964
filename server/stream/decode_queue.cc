#include "server/stream/decode_queue.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

bool DecodeQueue::WantsTask(std::size_t task_samples) {
  if (samples_.size() <= tasks_ * task_samples) return false;
  ++tasks_;
  return true;
}

std::vector<ReadSample> DecodeQueue::Take(std::size_t task_samples) {
  --tasks_;
  // The other workers are to have their part.
  const std::size_t part = std::max<std::size_t>(1, samples_.size() / workers_);
  const std::size_t count = std::min({task_samples, part, samples_.size()});
  std::vector<ReadSample> taken;
  taken.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(std::move(samples_.front()));
    samples_.pop_front();
  }
  return taken;
}

std::vector<ReadSample> DecodeQueue::TakeOf(const Batch& batch) {
  std::vector<ReadSample> taken;
  std::deque<ReadSample> left;
  for (ReadSample& sample : samples_) {
    if (sample.pending->batch == &batch) {
      taken.push_back(std::move(sample));
    } else {
      left.push_back(std::move(sample));
    }
  }
  samples_ = std::move(left);
  return taken;
}

}  // namespace forebay::stream
