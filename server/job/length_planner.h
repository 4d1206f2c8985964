#ifndef FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_
#define FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_

#include <stop_token>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"
#include "server/stream/stream_spec.h"

namespace forebay::proto {
class LoaderSpec;
}  // namespace forebay::proto

namespace forebay::job {

// Fits a stream to the lengths of its samples: the order and the batches as far
// as the spec asks for it, and the room of fields that vary where that saves
// memory. `stream` has all else that the spec says. Looks at each sample of the
// index if it needs to. Errors: INVALID_ARGUMENT: no such field differs in
// length, the longest sample is too long, or options exclude each other;
// UNIMPLEMENTED: the index does not know the lengths; RESOURCE_EXHAUSTED: there
// is no memory for the plan; CANCELLED: stopped. Thread-safe.
absl::Status PlanLengths(const proto::LoaderSpec& spec,
                         base::MemoryBudget* budget,
                         const std::stop_token& stop,
                         stream::StreamSpec* stream);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_
