#ifndef FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "server/schedule/flow.h"

namespace forebay::executor {

// A task whose estimated CPU time exceeds these 5 ms counts as long; all others
// count as short.
constexpr std::int64_t kLongTaskNanos = 5'000'000;

// A caller's description of a task: its estimated CPU time, and its urgency.
struct Demand {
  // The estimated CPU time of the task, in nanoseconds; 0 if nothing is known.
  std::int64_t cpu_nanos = 0;
  // The order within a flow: the task with the smallest urgency goes first, and
  // among equals the oldest.
  std::uint64_t urgency = 0;
  // Makes the task count as long, whatever its estimated CPU time is.
  bool may_be_long = false;
  // Makes the task count as short unless `may_be_long` is set. It is set for a
  // task that a worker process does: the worker spends most of the CPU time,
  // and the thread waits for the worker only briefly.
  bool asks_process = false;

  bool is_long() const {
    return may_be_long || (!asks_process && cpu_nanos > kLongTaskNanos);
  }
};

// Runs CPU tasks on threads, shared fairly among flows by weight. Long tasks do
// not make a short task of another flow wait until they end. Up to cpus() tasks
// of each kind run at once, and a CPU that both kinds want goes to the short
// task first.
//
// Thread-safe. The caller owns it; destruction starts no further task and waits
// for those that run. Submitting does not block. No errors.
class Executor {
 public:
  // The work itself. `place` is 0 to places() - 1. No two tasks run with the
  // same place at once, so a place may index memory that its task alone uses.
  using Task = std::function<void(int place)>;

  virtual ~Executor() = default;

  // Returns the number of CPUs that tasks may use.
  virtual int cpus() const = 0;
  // Returns the most tasks that can run at once. The number exceeds cpus(),
  // because short and long tasks run beside each other.
  virtual int places() const = 0;

  // Submits a task that several flows share: at least one flow, none of them
  // twice. The task runs at the first turn of any of them, and all flows pay an
  // equal part. When it ends, its measured CPU time replaces the estimate.
  virtual void SubmitFor(absl::Span<const schedule::Flow> flows,
                         const Demand& demand, Task task) = 0;
  // Adds `nanos` of CPU time that another process spent for the task running at
  // `place`. Only that task may call this, on its own thread.
  virtual void AddCpu(int place, std::int64_t nanos) = 0;
  void Submit(schedule::Flow flow, const Demand& demand, Task task) {
    SubmitFor({&flow, 1}, demand, std::move(task));
  }
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
