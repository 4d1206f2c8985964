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

// Makes samples whose images need more scratch memory than a thread has. These
// samples are made in the shared workspace, one after another. Streams and
// readers take turns, in the order of the executor's fair queue. Each set of
// payers has a queue of its own, so that a job's cap delays only that job's
// samples.
//
// No thread waits for the workspace, and only a running task holds it. If a
// task finds the workspace in use, the task is submitted again when the
// workspace is free.
//
// Thread-safe. Owned through shared_ptr. When the last owner is gone, waiting
// samples are dropped. The executor and the workspace outlive this object.
// Never blocks; has no errors.
class LargeSamples : public std::enable_shared_from_this<LargeSamples> {
 public:
  using Flows = std::vector<schedule::Flow>;  // the jobs that pay
  // A sample to make.
  struct Sample {
    const void* batch = nullptr;  // identifies the sample's batch for Charge
    // The sample's expected CPU time and its urgency, for the fair queue.
    executor::Demand demand;
    // Makes the sample, on a thread of the executor. Returns false if the
    // sample was abandoned.
    std::function<bool(pipeline::Workspace&)> make;
  };

  LargeSamples(executor::Executor* executor, pipeline::SharedWorkspace* shared)
      : executor_(executor), shared_(shared) {}

  // Queues a sample, which is made when it is the payers' turn.
  void Add(const Flows& payers, Sample sample);
  // Charges to `payers` the samples of the batch that have not been made yet.
  void Charge(const void* batch, const Flows& payers);

 private:
  using Queue = std::deque<Sample>;

  // Submits a task for the queue of `payers`, or erases the queue if it is
  // empty.
  void Submit(const Flows& payers);
  // Makes the first sample of a queue. Skips abandoned samples. Runs as a task.
  void Run(const Flows& payers);
  // Takes the first sample from a queue, if there is any.
  std::optional<Sample> Next(const Flows& payers);

  executor::Executor* const executor_;
  pipeline::SharedWorkspace* const shared_;
  base::Mutex mutex_;
  // Each queue has exactly one task, which is submitted, or runs, or waits
  // until the workspace is free. The task erases its queue when the queue is
  // empty.
  std::map<Flows, Queue> queues_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_LARGE_SAMPLES_H_
