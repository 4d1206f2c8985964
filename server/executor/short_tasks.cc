#include "server/executor/short_tasks.h"

#include <algorithm>

namespace forebay::executor {

FlowSet FlowSetOf(absl::Span<const schedule::Flow> flows) {
  FlowSet set(flows.begin(), flows.end());
  std::sort(set.begin(), set.end());
  return set;
}

bool HasOther(const FlowSet& waiting, const FlowSet& running) {
  return waiting.front() == schedule::kNobody ||
         !std::includes(running.begin(), running.end(), waiting.begin(),
                        waiting.end());
}

void ShortTasks::Remove(const FlowSet& flows) {
  const auto found = counts_.find(flows);
  if (--found->second == 0) counts_.erase(found);
}

bool ShortTasks::MixFlows() const {
  return counts_.size() > 1 ||
         (!counts_.empty() &&
          counts_.begin()->first.front() == schedule::kNobody);
}

}  // namespace forebay::executor
