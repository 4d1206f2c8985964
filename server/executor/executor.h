#ifndef FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "server/schedule/flow.h"

namespace forebay::executor {

// What a task is taken to need.
struct Demand {
  std::int64_t cpu_nanos = 0;
  // Within a flow, smaller is sooner; among equals, the oldest goes first.
  std::uint64_t urgency = 0;
};

// Runs CPU tasks on worker threads, shared fairly among flows by weight.
// Thread-safe. The caller owns it; destruction runs no further task and waits
// for those that run. Submitting does not block. No errors.
class Executor {
 public:
  // `worker` is 0 to workers() - 1: no two tasks run with the same one at once.
  using Task = std::function<void(int worker)>;

  virtual ~Executor() = default;

  virtual int workers() const = 0;

  // A task that several flows want, at least one, none of them twice: it has
  // the place of whose turn comes first, and all pay the same part of it. The
  // measured CPU time replaces the estimate afterwards.
  virtual void SubmitFor(absl::Span<const schedule::Flow> flows,
                         const Demand& demand, Task task) = 0;
  void Submit(schedule::Flow flow, const Demand& demand, Task task) {
    SubmitFor({&flow, 1}, demand, std::move(task));
  }

  // The flow's share from now on; 1 until set. Positive and finite. An executor
  // that shares nothing out has no use for it.
  virtual void SetWeight(schedule::Flow flow, double weight);

  // The CPU time that the flow may take from now on, in CPUs (seconds a
  // second); positive, infinity: no cap, as until set. What a flow without a
  // cap wants too is held up by none. Who shares nothing out has no use for it.
  virtual void SetCap(schedule::Flow flow, double cpus);

  // The flow ended: lets go of its weight and cap once its last task has run.
  virtual void Forget(schedule::Flow flow);
};

inline void Executor::SetWeight(schedule::Flow, double) {}
inline void Executor::SetCap(schedule::Flow, double) {}
inline void Executor::Forget(schedule::Flow) {}

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_EXECUTOR_H_
