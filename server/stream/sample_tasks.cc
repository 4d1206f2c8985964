#include "server/stream/sample_tasks.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace forebay::stream {
namespace {

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
  if (produced_ != nullptr) return NextOfProducers(charged);
  if (!cost_.is_known() && guesses_.contains(charged)) return std::nullopt;
  const std::uint32_t samples = cost_.task_samples();
  const PendingSample* const first =
      queues_.NextTask(charged, cost_.is_known() ? samples : kAll);
  if (first == nullptr) return std::nullopt;
  if (!cost_.is_known()) guesses_.insert(charged);
  return SampleTask{.demand = DemandOf(*first, samples), .flows = charged};
}

std::optional<SampleTask> SampleTasks::NextOfProducers(const Flows& charged) {
  if (produce_tasks_ >= produced_->producers()->most()) return std::nullopt;
  const std::uint32_t samples = has_lanes_ ? 1 : cost_.task_samples();
  const auto is_next = [this](const PendingSample& one) {
    return IsNextInLane(one);
  };
  const PendingSample* const first = has_lanes_
                                         ? queues_.NextTaskOf(charged, is_next)
                                         : queues_.NextTask(charged, samples);
  if (first == nullptr) return std::nullopt;
  ++produce_tasks_;
  SampleTask task{.demand = DemandOf(*first, samples), .flows = charged};
  if (has_lanes_) {
    task.in_lane = first;
    task.lane = produced_->LaneOf(*first);
    busy_lanes_.insert(*task.lane);
  }
  return task;
}

std::optional<SampleTask> SampleTasks::NextProduced() {
  if (produced_ == nullptr) return std::nullopt;
  const auto is_next = [this](const PendingSample& one) {
    return IsNextInLane(one);
  };
  const auto flows = has_lanes_ ? queues_.FlowsOf(is_next)
                                : queues_.Wanting(cost_.task_samples());
  return flows.has_value() ? NextOfProducers(*flows) : std::nullopt;
}

bool SampleTasks::IsNextInLane(const PendingSample& pending) const {
  const auto lane = produced_->LaneOf(pending);
  if (busy_lanes_.contains(*lane)) return false;
  // Samples arrive in any order.
  return std::none_of(
      in_flight_->batches().begin(), in_flight_->batches().end(),
      [&](const std::unique_ptr<Batch>& batch) {
        return batch->key < pending.batch->key &&
               produced_->LaneOf(batch->samples.front()) == lane;
      });
}

std::vector<ReadSample> SampleTasks::Take(const SampleTask& task) {
  if (task.in_lane == nullptr)
    return queues_.Take(task.flows, cost_.task_samples());
  return queues_.TakeOne(task.flows, [&](const PendingSample& one) {
    return &one == task.in_lane;
  });
}

void SampleTasks::EndProduced(std::optional<std::uint32_t> lane) {
  --produce_tasks_;
  if (lane.has_value()) busy_lanes_.erase(*lane);
}

executor::Demand SampleTasks::DemandOf(const PendingSample& first,
                                       std::uint32_t samples) const {
  return {.cpu_nanos = cost_.cpu_nanos() * samples,
          .urgency = members_->UrgencyOf(*first.batch),
          .asks_process = produced_ != nullptr};
}

}  // namespace forebay::stream
