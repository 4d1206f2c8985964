#include "server/producer/stall_policy.h"

#include <algorithm>

namespace forebay::producer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSuspectNanos = kSecond;
// A stop that is longer than a debugger or a snapshot of a stack takes.
constexpr std::int64_t kStoppedNanos = kSecond;
constexpr std::int64_t kAsleepNanos = 60 * kSecond;
constexpr std::int64_t kAsleepTasks = 20;

}  // namespace

std::optional<Stall> FindStall(const BusyProducer& producer,
                               const StallContext& context) {
  if (!context.is_awaited ||
      context.now_nanos - producer.asked_at_nanos < kSuspectNanos)
    return std::nullopt;
  if (producer.stopped_since_nanos.has_value()) {
    const std::int64_t since = *producer.stopped_since_nanos;
    const bool may_go = context.now_nanos - since >= kStoppedNanos &&
                        context.host_answered_at_nanos > since;
    return may_go ? std::optional(Stall::kStopped) : std::nullopt;
  }
  const std::int64_t limit =
      std::max(kAsleepNanos, kAsleepTasks * context.task_nanos);
  const std::int64_t since =
      std::max(producer.asked_at_nanos, producer.still_since_nanos);
  const bool others_work =
      context.producer_answered_at_nanos > producer.asked_at_nanos &&
      context.host_answered_at_nanos > producer.asked_at_nanos;
  if (producer.has_retried || !others_work || context.now_nanos - since < limit)
    return std::nullopt;
  return Stall::kAsleep;
}

}  // namespace forebay::producer
