#include "server/worker/stall_policy.h"

#include <algorithm>

namespace forebay::worker {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// A worker is not suspected before it has had a task for this time.
constexpr std::int64_t kSuspectNanos = kSecond;
// A stopped worker keeps its task for this time, because a debugger or a stack
// sampler may have stopped it for a moment.
constexpr std::int64_t kStoppedNanos = kSecond;
// How long a worker must sleep before its task goes to another: the longer of
// kAsleepNanos and kAsleepTasks times the average task.
constexpr std::int64_t kAsleepNanos = 60 * kSecond;
constexpr std::int64_t kAsleepTasks = 20;

}  // namespace

std::optional<Stall> FindStall(const BusyWorker& worker,
                               const StallContext& context) {
  if (!context.is_awaited ||
      context.now_nanos - worker.asked_at_nanos < kSuspectNanos)
    return std::nullopt;
  if (worker.stopped_since_nanos.has_value()) {
    const std::int64_t since = *worker.stopped_since_nanos;
    const bool may_go = context.now_nanos - since >= kStoppedNanos &&
                        context.pool_answered_at_nanos > since;
    return may_go ? std::optional(Stall::kStopped) : std::nullopt;
  }
  const std::int64_t limit =
      std::max(kAsleepNanos, kAsleepTasks * context.task_nanos);
  const std::int64_t since =
      std::max(worker.asked_at_nanos, worker.still_since_nanos);
  const bool others_work =
      context.worker_answered_at_nanos > worker.asked_at_nanos &&
      context.pool_answered_at_nanos > worker.asked_at_nanos;
  if (worker.has_retried || !others_work || context.now_nanos - since < limit)
    return std::nullopt;
  return Stall::kAsleep;
}

}  // namespace forebay::worker
