#include "server/stream/sample_tasks.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace forebay::stream {
namespace {

// The bound of a task's samples that lets one task take a whole queue.
constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void SampleTasks::Add(ReadSample sample) {
  const Flows& charged = sample.pending->batch->charged;
  queues_.Add(charged, std::move(sample));
}

void SampleTasks::AddAgain(ReadSample sample) {
  const Flows& charged = sample.pending->batch->charged;
  queues_.AddAgain(charged, std::move(sample));
}

std::optional<SampleTask> SampleTasks::Next(const Flows& charged) {
  if (produced_ != nullptr) return NextOfWorkers(charged);
  if (!cost_.is_known() && guesses_.contains(charged)) return std::nullopt;
  const std::uint32_t samples = cost_.task_samples();
  const PendingSample* const first =
      queues_.NextTask(charged, cost_.is_known() ? samples : kAll);
  if (first == nullptr) return std::nullopt;
  if (!cost_.is_known()) guesses_.insert(charged);
  return SampleTask{.demand = DemandOf(*first, samples), .flows = charged};
}

std::optional<SampleTask> SampleTasks::NextOfWorkers(const Flows& charged) {
  if (produce_tasks_ >= produced_->workers()->most()) return std::nullopt;
  const std::uint32_t samples = has_affinity_ ? 1 : cost_.task_samples();
  const auto is_next = [this](const PendingSample& one) {
    return IsNextWithAffinity(one);
  };
  const PendingSample* const first = has_affinity_
                                         ? queues_.NextTaskOf(charged, is_next)
                                         : queues_.NextTask(charged, samples);
  if (first == nullptr) return std::nullopt;
  ++produce_tasks_;
  SampleTask task{.demand = DemandOf(*first, samples), .flows = charged};
  if (has_affinity_) {
    task.with_affinity = first;
    task.affinity = produced_->AffinityOf(*first);
    busy_workers_.insert(*task.affinity);
  }
  return task;
}

std::optional<SampleTask> SampleTasks::NextProduced() {
  if (produced_ == nullptr) return std::nullopt;
  const auto is_next = [this](const PendingSample& one) {
    return IsNextWithAffinity(one);
  };
  const auto flows = has_affinity_ ? queues_.FlowsOf(is_next)
                                   : queues_.Wanting(cost_.task_samples());
  return flows.has_value() ? NextOfWorkers(*flows) : std::nullopt;
}

bool SampleTasks::IsNextWithAffinity(const PendingSample& pending) const {
  const auto affinity = produced_->AffinityOf(pending);
  if (busy_workers_.contains(*affinity)) return false;
  // Reads end in any order, so the read of an earlier sample of the worker may
  // still be in flight.
  return std::none_of(
      in_flight_->batches().begin(), in_flight_->batches().end(),
      [&](const std::unique_ptr<Batch>& batch) {
        return batch->key < pending.batch->key &&
               produced_->AffinityOf(batch->samples.front()) == affinity;
      });
}

std::vector<ReadSample> SampleTasks::Take(const SampleTask& task) {
  if (task.with_affinity == nullptr)
    return queues_.Take(task.flows, cost_.task_samples());
  return queues_.TakeOne(task.flows, [&](const PendingSample& one) {
    return &one == task.with_affinity;
  });
}

void SampleTasks::EndProduced(std::optional<std::uint32_t> affinity) {
  --produce_tasks_;
  if (affinity.has_value()) busy_workers_.erase(*affinity);
}

executor::Demand SampleTasks::DemandOf(const PendingSample& first,
                                       std::uint32_t samples) const {
  return {.cpu_nanos = cost_.cpu_nanos() * samples,
          .urgency = members_->UrgencyOf(*first.batch),
          .asks_process = produced_ != nullptr};
}

}  // namespace forebay::stream
