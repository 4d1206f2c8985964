#include "server/stream/decode_queue.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

bool DecodeQueue::WantsTask(std::size_t task_samples) {
  if (!Wants(task_samples)) return false;
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

void DecodeQueues::Add(const Flows& flows, ReadSample sample) {
  At(flows).Add(std::move(sample));
}

std::optional<DecodeQueues::Flows> DecodeQueues::Wanting(
    std::size_t task_samples) const {
  for (const auto& [flows, queue] : queues_) {
    if (queue.Wants(task_samples)) return flows;
  }
  return std::nullopt;
}

const PendingSample* DecodeQueues::NextTask(const Flows& flows,
                                            std::size_t task_samples) {
  const auto found = queues_.find(flows);
  if (found == queues_.end() || !found->second.WantsTask(task_samples))
    return nullptr;
  return found->second.front().pending;
}

std::vector<ReadSample> DecodeQueues::Take(const Flows& flows,
                                           std::size_t task_samples) {
  std::vector<ReadSample> taken = At(flows).Take(task_samples);
  EraseIfDone(flows);
  return taken;
}

void DecodeQueues::Move(const Batch& batch, const Flows& from,
                        const Flows& to) {
  const auto found = queues_.find(from);
  if (found == queues_.end()) return;
  for (ReadSample& sample : found->second.TakeOf(batch))
    Add(to, std::move(sample));
  EraseIfDone(from);
}

void DecodeQueues::EraseIfDone(const Flows& flows) {
  const auto found = queues_.find(flows);
  if (found != queues_.end() && found->second.empty() &&
      found->second.tasks() == 0)
    queues_.erase(found);
}

}  // namespace forebay::stream
