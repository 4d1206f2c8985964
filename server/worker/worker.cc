#include "server/worker/worker.h"

#include <poll.h>

#include "server/base/process.h"

namespace forebay::worker {

bool Worker::HasLeft() const {
  if (socket.IsReadable()) return true;
  if (process() == nullptr) return false;
  struct pollfd ended = {.fd = process()->fd(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, 0) > 0;
}

bool Worker::Kill(Stall stall) {
  // The reason is set before the kill, because other threads may notice the
  // process's end at once.
  stall_ = static_cast<int>(stall);
  if (process()->Kill()) return true;
  stall_ = kNoStall;
  return false;
}

std::optional<BusyWorker> Worker::Look(std::int64_t now_nanos) {
  const std::int64_t asked = asked_at_nanos_;
  if (asked == kNoTask || process() == nullptr) return std::nullopt;
  if (last_look_.asked_at_nanos != asked) {
    last_look_ = {.asked_at_nanos = asked};
    last_cpu_nanos_ = -1;
  }
  last_look_.has_retried = has_retried_;
  if (!process()->IsStopped()) {
    last_look_.stopped_since_nanos.reset();
  } else if (!last_look_.stopped_since_nanos.has_value()) {
    last_look_.stopped_since_nanos = now_nanos;
  }
  const std::int64_t cpu_nanos = base::ProcessCpuNanos(process()->pid());
  // A process whose CPU time stands still is asleep or stopped.
  if (cpu_nanos != last_cpu_nanos_) {
    last_cpu_nanos_ = cpu_nanos;
    last_look_.still_since_nanos = now_nanos;
  }
  return last_look_;
}

}  // namespace forebay::worker
