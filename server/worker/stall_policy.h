#ifndef FOREBAY_SERVER_WORKER_STALL_POLICY_H_
#define FOREBAY_SERVER_WORKER_STALL_POLICY_H_

#include <cstdint>
#include <optional>

namespace forebay::worker {

// The reason why a worker was ended, and its task given to another one.
enum class Stall {
  // A signal had stopped the worker.
  kStopped,
  // The worker had used no CPU time for far longer than tasks take.
  kAsleep,
};

// The state of a worker that has a task, when it was last looked at. Times are
// in nanoseconds of the daemon's clock.
struct BusyWorker {
  // The time at which the worker got the task.
  std::int64_t asked_at_nanos = 0;
  // The time at which the worker's CPU time was first seen to have its present
  // value.
  std::int64_t still_since_nanos = 0;
  // The time at which the worker was first seen to be stopped; nullopt if the
  // worker is not stopped.
  std::optional<std::int64_t> stopped_since_nanos = std::nullopt;
  // Whether a sample of the task was already taken away from another sleeping
  // worker.
  bool has_retried = false;
};

// The state of the stream and of its other processes.
struct StallContext {
  std::int64_t now_nanos = 0;
  // Whether a trainer that runs waits for a batch.
  bool is_awaited = false;
  // The times at which the worker pool last answered, and at which any worker
  // did; INT64_MIN if there was no answer.
  std::int64_t pool_answered_at_nanos = INT64_MIN;
  std::int64_t worker_answered_at_nanos = INT64_MIN;
  // The average time of a task, in nanoseconds.
  std::int64_t task_nanos = 0;
};

// Returns why the worker's task should go to another worker; nullopt if it
// should not. The caller must kill the worker first. The worker may be writing
// a sample, and could continue after the memory was given to another batch.
//
// A stopped worker loses its task if its worker pool still answers, because the
// pool can then fork another worker. If the whole job is paused, the worker
// keeps its task.
//
// A sleeping worker may just wait for a slow server. This worker loses its task
// after a minute, or after twenty times the average task if that is longer. The
// worker pool and another worker must have answered meanwhile. Each sample is
// moved only once: if a second worker sleeps over the sample, that worker keeps
// it.
std::optional<Stall> FindStall(const BusyWorker& worker,
                               const StallContext& context);

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_STALL_POLICY_H_
