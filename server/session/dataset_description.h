#ifndef FOREBAY_SERVER_SESSION_DATASET_DESCRIPTION_H_
#define FOREBAY_SERVER_SESSION_DATASET_DESCRIPTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/session.pb.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"

namespace forebay::session {

// These functions write a dataset's size, version and class names into an
// answer. Class names that are too long for the message go to `fds`, in a
// memfd. RESOURCE_EXHAUSTED: the budget has no room for the names. Thread-safe;
// never block.
absl::Status Describe(const dataset::Dataset& dataset,
                      base::MemoryBudget* budget, proto::LoaderOpened& opened,
                      std::vector<base::Fd>& fds);
absl::Status Describe(const dataset::Dataset& dataset,
                      base::MemoryBudget* budget, proto::ReaderOpened& opened,
                      std::vector<base::Fd>& fds);

// Adds warnings to an answer, as many as the answer has room for. Thread-safe;
// never blocks.
void AddWarnings(const std::vector<std::string>& warnings,
                 proto::ReaderOpened& opened);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_DATASET_DESCRIPTION_H_
