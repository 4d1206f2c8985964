#ifndef FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "server/schedule/flow.h"

namespace forebay::executor {

// A task that takes more CPU time than this is long. Others are short.
constexpr std::int64_t kLongTaskNanos = 5'000'000;

// The estimated CPU time of a task, and its urgency.
struct Demand {
  std::int64_t cpu_nanos = 0;
  // Within a flow, smaller is sooner; among equals, the oldest goes first.
  std::uint64_t urgency = 0;
  // Makes the task count as long, however little CPU time it takes.
  bool may_be_long = false;
  // Otherwise makes it count as short: a process of the user's takes most of
  // that time, and the task waits for that only briefly.
  bool asks_process = false;

  bool is_long() const {
    return may_be_long || (!asks_process && cpu_nanos > kLongTaskNanos);
  }
};

// Runs CPU tasks on worker threads, shared fairly among flows by weight. Long
// tasks make no short one of another flow wait for their end: up to cpus() of
// each run at once, and a CPU that both want goes to the short one first.
// Thread-safe. The caller owns it; destruction starts no further task and waits
// for those that run. Submitting does not block. No errors.
class Executor {
 public:
  // `worker` is 0 to workers() - 1: no two tasks run with the same one at once.
  using Task = std::function<void(int worker)>;

  virtual ~Executor() = default;

  // Returns the number of CPUs that tasks use.
  virtual int cpus() const = 0;
  // Returns the number of tasks that can be under way at once: more than
  // cpus().
  virtual int workers() const = 0;

  // Submits a task of several flows: at least one, none of them twice. It runs
  // at the first turn of any of them, and all pay the same part of it. The
  // measured CPU time replaces the estimate afterwards.
  virtual void SubmitFor(absl::Span<const schedule::Flow> flows,
                         const Demand& demand, Task task) = 0;
  // Charges the task that runs with this worker for CPU time that another
  // process spent for it. To be called by the task.
  virtual void AddCpu(int worker, std::int64_t nanos) = 0;
  void Submit(schedule::Flow flow, const Demand& demand, Task task) {
    SubmitFor({&flow, 1}, demand, std::move(task));
  }
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
