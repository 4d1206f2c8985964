#ifndef FOREBAY_SERVER_EXECUTOR_SHORT_TASKS_H_
#define FOREBAY_SERVER_EXECUTOR_SHORT_TASKS_H_

#include <cstddef>
#include <map>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "server/schedule/flow.h"

namespace forebay::executor {

// The flows that a task is charged to, in ascending order.
using FlowSet = absl::InlinedVector<schedule::Flow, 2>;

FlowSet FlowSetOf(absl::Span<const schedule::Flow> flows);

// Returns whether a flow of `waiting` is not among those of `running`. Work of
// nobody is always another's.
bool HasOther(const FlowSet& waiting, const FlowSet& running);

// Counts the short tasks that wait or run, by their flows.
//
// Not thread-safe: the caller locks. Never blocks. No errors.
class ShortTasks {
 public:
  void Add(const FlowSet& flows) { ++counts_[flows]; }
  // Takes back one Add of the same flows.
  void Remove(const FlowSet& flows);
  // Returns whether one of these tasks can hold up a flow that is not its own.
  bool MixFlows() const;

 private:
  std::map<FlowSet, std::size_t> counts_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_SHORT_TASKS_H_
