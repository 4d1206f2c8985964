#ifndef FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_
#define FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_

#include <cstddef>
#include <memory>
#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/stream/stream_spec.h"
#include "server/survey/value_sizes.h"

namespace forebay::proto {
class LoaderSpec;
}  // namespace forebay::proto

namespace forebay::job {

// Measures the values of a field, by its number, in all samples. May block for
// as long as reading them takes.
using MeasureField =
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const survey::ValueSizes>>(
        std::size_t)>;

// Fits a stream to the lengths of its samples: the order and the batches as far
// as the spec asks for it, and the room of fields that vary where that saves
// memory. `stream` has all else that the spec says. Looks at each sample of the
// index if it needs to, and has lengths measured that the index does not know.
// Errors: INVALID_ARGUMENT: no such field differs in length, the longest sample
// is too long, or options exclude each other; RESOURCE_EXHAUSTED: there is no
// memory for the plan; CANCELLED: stopped; those of `measure`. Thread-safe.
absl::Status PlanLengths(const proto::LoaderSpec& spec,
                         base::MemoryBudget* budget, MeasureField measure,
                         const std::stop_token& stop,
                         stream::StreamSpec* stream);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_
