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
  // The task takes no more than its share, so that other threads get theirs.
  const std::size_t part = std::max<std::size_t>(1, samples_.size() / places_);
  const std::size_t count = std::min({task_samples, part, samples_.size()});
  std::vector<ReadSample> taken;
  taken.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool alone = samples_.front().pending->was_lost();
    if (alone && i > 0) break;
    taken.push_back(std::move(samples_.front()));
    samples_.pop_front();
    if (alone) break;
  }
  return taken;
}

const PendingSample* DecodeQueue::Find(May may) const {
  for (const ReadSample& sample : samples_) {
    if (may(*sample.pending)) return sample.pending;
  }
  return nullptr;
}

const PendingSample* DecodeQueue::NextTaskOf(May may) {
  const PendingSample* const found = Find(may);
  if (found != nullptr) ++tasks_;
  return found;
}

std::vector<ReadSample> DecodeQueue::TakeOne(May may) {
  --tasks_;
  std::vector<ReadSample> taken;
  const auto found = std::find_if(
      samples_.begin(), samples_.end(),
      [&](const ReadSample& sample) { return may(*sample.pending); });
  if (found == samples_.end()) return taken;
  taken.push_back(std::move(*found));
  samples_.erase(found);
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

void DecodeQueues::AddAgain(const Flows& flows, ReadSample sample) {
  At(flows).AddAgain(std::move(sample));
}

const PendingSample* DecodeQueues::NextTaskOf(const Flows& flows,
                                              DecodeQueue::May may) {
  const auto found = queues_.find(flows);
  return found == queues_.end() ? nullptr : found->second.NextTaskOf(may);
}

std::optional<DecodeQueues::Flows> DecodeQueues::FlowsOf(
    DecodeQueue::May may) const {
  for (const auto& [flows, queue] : queues_) {
    if (queue.Find(may) != nullptr) return flows;
  }
  return std::nullopt;
}

std::vector<ReadSample> DecodeQueues::TakeOne(const Flows& flows,
                                              DecodeQueue::May may) {
  std::vector<ReadSample> taken = At(flows).TakeOne(may);
  EraseIfDone(flows);
  return taken;
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
