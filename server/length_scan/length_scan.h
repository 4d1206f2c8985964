#ifndef FOREBAY_SERVER_LENGTH_SCAN_LENGTH_SCAN_H_
#define FOREBAY_SERVER_LENGTH_SCAN_LENGTH_SCAN_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/executor/executor.h"
#include "server/length_scan/value_sizes.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/storage/paid_source.h"

namespace forebay::length_scan {

// The collaborators that all length scans share. They outlive every scan.
struct LengthScanDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  base::MemoryBudget* budget = nullptr;
  // Called when a file differs from what the dataset's index says. Must not
  // block.
  std::function<void(const dataset::Dataset&)> on_changed;
};

// The values to measure, and the jobs that pay for measuring them.
struct Subject {
  // The dataset. Its samples are read, and not made by workers.
  std::shared_ptr<const dataset::Dataset> dataset;
  // Index of the field to measure.
  std::size_t field = 0;
  // The source of the scan's reads. Its jobs pay for the reads and for the CPU
  // time. If it is null, LengthScanDeps::source is used, and `job` pays.
  storage::PaidSource* reads = nullptr;
  schedule::Flow job = 0;
};

// Measures the lengths of a field's values in all samples, if the dataset's
// index does not have these lengths. Reads the parts of samples that
// ReadPlanner plans, many at a time, and measures them in the executor. The
// bytes in flight take a bounded part of the budget, for any number of samples.
//
// Thread-safe. Blocks until all samples are measured, but not for long once
// `stop` is requested. After a stop or an error, reads and tasks may still be
// in flight when it returns. Errors of MeasureValue and of the source name the
// sample and the object. RESOURCE_EXHAUSTED: there is too little memory.
// CANCELLED: the scan was stopped.
absl::StatusOr<ValueSizesParts> ScanLengths(const Subject& subject,
                                            const LengthScanDeps& deps,
                                            const std::stop_token& stop);

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_LENGTH_SCAN_H_
