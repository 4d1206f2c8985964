#include "server/stream/worker_pool_watch.h"

namespace forebay::stream {
namespace {

// How long a trainer waits for a worker pool that stands still before its epoch
// ends: for another loader's pool, and for its own.
constexpr std::int64_t kOthersPoolNanos = 800'000'000;
constexpr std::int64_t kOwnPoolNanos = 30'000'000'000;
// The least time between two looks at the worker pool. A batch counts as
// awaited if a trainer waited for kAwaitedNanos since the look before.
constexpr std::int64_t kLookNanos = 500'000'000;
constexpr std::int64_t kAwaitedNanos = 250'000'000;

}  // namespace

std::optional<worker::WorkerSet::Need> WorkerPoolWatch::BeginLook(
    MemberSet* members, const SampleCost& cost, std::int64_t now_nanos) {
  if (now_nanos - looked_at_nanos_ < kLookNanos) return std::nullopt;
  looked_at_nanos_ = now_nanos;
  return worker::WorkerSet::Need{
      .is_awaited = members->LookAtWaits() > kAwaitedNanos,
      .may_retry = !has_affinity_,
      .task_nanos = cost.task_nanos()};
}

void WorkerPoolWatch::EndLook(MemberSet* members, std::int64_t silent_nanos) {
  silent_nanos_ = silent_nanos;
  stands_still_ = silent_nanos > kOthersPoolNanos;
  if (stands_still_) return;
  for (const auto& member : *members) member->SawPoolWork();
}

absl::Status WorkerPoolWatch::EndOf(const Member& member) const {
  const bool is_own = member.id() == owner_;
  const std::int64_t limit = is_own ? kOwnPoolNanos : kOthersPoolNanos;
  if (!member.cursor().running() || silent_nanos_ <= limit ||
      member.WaitedForWorkerPool() <= limit || is_live_)
    return absl::OkStatus();
  return absl::AbortedError(
      is_own
          ? "the process that runs the dataset's code has not answered for "
            "30 s"
          : "the processes that run the dataset's code are another loader's, "
            "and stand still");
}

}  // namespace forebay::stream
