#ifndef FOREBAY_SERVER_SURVEY_VALUE_SURVEY_H_
#define FOREBAY_SERVER_SURVEY_VALUE_SURVEY_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/executor/executor.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/storage/paid_source.h"
#include "server/survey/value_sizes.h"

namespace forebay::survey {

// The collaborators that all surveys share; outlives them all.
struct SurveyDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  base::MemoryBudget* budget = nullptr;
  // Told when a file was not as the dataset's index says. Does not block.
  std::function<void(const dataset::Dataset&)> on_changed;
};

// The values that are measured, and who pays for it.
struct Subject {
  // Not one whose samples producers make.
  std::shared_ptr<const dataset::Dataset> dataset;
  std::size_t field = 0;
  // The source of the survey's reads. Its jobs pay for these, and for the CPU
  // time. Null: SurveyDeps::source, and `job` pays.
  storage::PaidSource* reads = nullptr;
  schedule::Flow job = 0;
};

// Measures a field of all samples, which no index does: by reading these, as
// ReadPlanner says, many at a time, and by looking at them in the executor.
// The bytes in flight take a part of the budget, however many samples there
// are.
//
// Thread-safe. Blocks until all are measured, but not for long once `stop` is
// requested; reads and tasks may then still be in flight, and when it returns
// an error. Errors: those of MeasureValue, and of the source, which name sample
// and object; RESOURCE_EXHAUSTED: there is too little memory; CANCELLED: it was
// stopped.
absl::StatusOr<ValueSizesParts> SurveyValues(const Subject& subject,
                                             const SurveyDeps& deps,
                                             const std::stop_token& stop);

}  // namespace forebay::survey

#endif  // FOREBAY_SERVER_SURVEY_VALUE_SURVEY_H_
