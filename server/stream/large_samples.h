#ifndef FOREBAY_SERVER_STREAM_LARGE_SAMPLES_H_
#define FOREBAY_SERVER_STREAM_LARGE_SAMPLES_H_

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/pipeline/shared_workspace.h"
#include "server/schedule/flow.h"

namespace forebay::stream {

// Samples of one stream, or one reader, whose images need more scratch than a
// worker has: made one after another in the shared workspace, for which streams
// and readers take turns, in the order of the executor's fair queue.
//
// No worker waits for the workspace, and nobody holds it but a task that runs:
// who finds it lent submits a task when it is back. Thread-safe. Owned through
// shared_ptr; samples that wait when the owner lets go are dropped. Executor
// and workspace outlive it. Never blocks; no errors.
class LargeSamples : public std::enable_shared_from_this<LargeSamples> {
 public:
  struct Sample {
    std::vector<schedule::Flow> flows;  // who pay
    executor::Demand demand;
    // Makes it, on a worker. False: nobody wanted it any more.
    std::function<bool(pipeline::Workspace&)> make;
  };

  LargeSamples(executor::Executor* executor, pipeline::SharedWorkspace* shared)
      : executor_(executor), shared_(shared) {}

  void Add(Sample sample);

 private:
  void Submit();
  void Run();
  Sample Next();
  bool empty() const;

  executor::Executor* const executor_;
  pipeline::SharedWorkspace* const shared_;
  mutable base::Mutex mutex_;
  // While it holds any, a task is on its way, runs, or follows when the
  // workspace is back.
  std::deque<Sample> waiting_ ABSL_GUARDED_BY(mutex_);
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_LARGE_SAMPLES_H_
