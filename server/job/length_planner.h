#ifndef FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_
#define FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_

#include <cstddef>
#include <memory>
#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/length_scan/value_sizes.h"
#include "server/stream/stream_spec.h"

namespace forebay::proto {
class LoaderSpec;
}  // namespace forebay::proto

namespace forebay::job {

// Measures, in all samples, the values of the field with the given number. May
// block as long as reading the samples takes.
using MeasureField = absl::FunctionRef<absl::StatusOr<
    std::shared_ptr<const length_scan::ValueSizes>>(std::size_t)>;

// Fits a stream to the lengths of its samples. If the spec asks for it, sets
// the order by length and the largest length of a batch. If that saves memory,
// gives the fields that vary in length less room in a slot than a batch of the
// longest samples would need. All other parts of the spec must be in `stream`
// already.
//
// Thread-safe. May look at each sample of the index, and call `measure` for
// lengths that the index does not have; blocks as long as that takes.
//
// INVALID_ARGUMENT: there is no suitable field that varies in length, the
// longest sample is too long, or options exclude each other.
// RESOURCE_EXHAUSTED: there is no memory for the plan. CANCELLED: `stop` was
// requested. Other errors are those of `measure`.
absl::Status PlanLengths(const proto::LoaderSpec& spec,
                         base::MemoryBudget* budget, MeasureField measure,
                         const std::stop_token& stop,
                         stream::StreamSpec* stream);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LENGTH_PLANNER_H_
