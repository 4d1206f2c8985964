#ifndef FOREBAY_SERVER_EXECUTOR_SHORT_TASKS_H_
#define FOREBAY_SERVER_EXECUTOR_SHORT_TASKS_H_

#include <cstddef>
#include <map>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "server/schedule/flow.h"

namespace forebay::executor {

// The flows that a task is charged to, in ascending order and never empty.
using FlowSet = absl::InlinedVector<schedule::Flow, 2>;

// Returns the flows sorted, as a FlowSet.
FlowSet FlowSetOf(absl::Span<const schedule::Flow> flows);

// Whether a flow of `waiting` is missing from `running`. kNobody's work belongs
// to no job, so this work always counts as another flow's.
bool HasOther(const FlowSet& waiting, const FlowSet& running);

// Counts the short tasks that wait or run, by their flows. The executor asks
// this object whether a misjudged task could delay another flow at all.
//
// Not thread-safe: the caller locks. Owns its counts. Never blocks. No errors.
class ShortTasks {
 public:
  void Add(const FlowSet& flows) { ++counts_[flows]; }
  // Takes back one Add of the same flows. There must have been one.
  void Remove(const FlowSet& flows);
  // Whether one of the counted tasks can hold up a flow that is not its own:
  // the tasks have different flows, or some are kNobody's.
  bool MixFlows() const;

 private:
  std::map<FlowSet, std::size_t> counts_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_SHORT_TASKS_H_
