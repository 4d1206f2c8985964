#ifndef FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "server/schedule/flow.h"

namespace forebay::executor {

// The estimated CPU time of a task, and its urgency.
struct Demand {
  std::int64_t cpu_nanos = 0;
  // Within a flow, smaller is sooner; among equals, the oldest goes first.
  std::uint64_t urgency = 0;
};

// Runs CPU tasks on worker threads, shared fairly among flows by weight.
// Thread-safe. The caller owns it; destruction starts no further task and waits
// for those that run. Submitting does not block. No errors.
class Executor {
 public:
  // `worker` is 0 to workers() - 1: no two tasks run with the same one at once.
  using Task = std::function<void(int worker)>;

  virtual ~Executor() = default;

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
