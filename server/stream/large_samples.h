#ifndef FOREBAY_SERVER_STREAM_LARGE_SAMPLES_H_
#define FOREBAY_SERVER_STREAM_LARGE_SAMPLES_H_

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

namespace forebay::stream {

// Samples of one stream, or one reader, whose images need more scratch than a
// worker has: made one after another in the shared workspace, for which streams
// and readers take turns, in the order of the executor's fair queue. Those that
// others pay for stand in a line of their own: no cap holds up what it is not
// for.
//
// No worker waits for the workspace, and nobody holds it but a task that runs:
// who finds it lent submits a task when it is back. Thread-safe. Owned through
// shared_ptr; samples that wait when the owner lets go are dropped. Executor
// and workspace outlive it. Never blocks; no errors.
class LargeSamples : public std::enable_shared_from_this<LargeSamples> {
 public:
  using Flows = std::vector<schedule::Flow>;  // who pay
  struct Sample {
    const void* batch = nullptr;  // if any: the samples that Charge moves
    executor::Demand demand;
    // Makes it, on a worker. False: nobody wanted it any more.
    std::function<bool(pipeline::Workspace&)> make;
  };

  LargeSamples(executor::Executor* executor, pipeline::SharedWorkspace* shared)
      : executor_(executor), shared_(shared) {}

  void Add(const Flows& payers, Sample sample);
  // Those of the batch that wait are charged to `payers` now.
  void Charge(const void* batch, const Flows& payers);

 private:
  using Line = std::deque<Sample>;

  void Submit(const Flows& payers);
  void Run(const Flows& payers);
  std::optional<Sample> Next(const Flows& payers);

  executor::Executor* const executor_;
  pipeline::SharedWorkspace* const shared_;
  base::Mutex mutex_;
  // For each of them a task is on its way, runs, or follows when the workspace
  // is back.
  std::map<Flows, Line> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_LARGE_SAMPLES_H_
