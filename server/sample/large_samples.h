#ifndef FOREBAY_SERVER_SAMPLE_LARGE_SAMPLES_H_
#define FOREBAY_SERVER_SAMPLE_LARGE_SAMPLES_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/pipeline/shared_workspace.h"
#include "server/schedule/flow.h"

namespace forebay::sample {

// Makes samples whose images need more scratch memory than a worker has, one
// after another in the shared workspace. Streams and readers take turns there,
// in the order of the executor's fair queue. Each set of payers has a queue of
// its own, so that a cap holds up only its own job's samples.
//
// No worker waits for the workspace. Only a running task holds it; a task that
// finds it lent is submitted again when it is back.
//
// Thread-safe. Owned through shared_ptr; samples that wait when the owner lets
// go are dropped. Executor and workspace outlive it. Never blocks; no errors.
class LargeSamples : public std::enable_shared_from_this<LargeSamples> {
 public:
  using Flows = std::vector<schedule::Flow>;  // the payers
  struct Sample {
    const void* batch = nullptr;  // identifies the samples that Charge moves
    executor::Demand demand;
    // Makes the sample, on a worker. Returns false if it was abandoned.
    std::function<bool(pipeline::Workspace&)> make;
  };

  LargeSamples(executor::Executor* executor, pipeline::SharedWorkspace* shared)
      : executor_(executor), shared_(shared) {}

  void Add(const Flows& payers, Sample sample);
  // Charges the batch's samples that wait to `payers`.
  void Charge(const void* batch, const Flows& payers);

 private:
  using Queue = std::deque<Sample>;

  void Submit(const Flows& payers);
  void Run(const Flows& payers);
  std::optional<Sample> Next(const Flows& payers);

  executor::Executor* const executor_;
  pipeline::SharedWorkspace* const shared_;
  base::Mutex mutex_;
  // For each queue a task is submitted, runs, or follows when the workspace is
  // back.
  std::map<Flows, Queue> queues_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_LARGE_SAMPLES_H_
