#ifndef FOREBAY_SERVER_STREAM_TASK_WORK_H_
#define FOREBAY_SERVER_STREAM_TASK_WORK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/clock.h"
#include "server/pipeline/workspace.h"
#include "server/stream/read_sample.h"
#include "server/stream/sample_maker.h"

namespace forebay::stream {

// The part of a task that makes samples on its thread of the executor, and
// measures the CPU time. Samples that need more scratch memory than the thread
// has are set apart.
//
// Immutable and thread-safe, if each caller has a place of its own. Owns
// nothing; the maker, the workspaces and the clock outlive it. Does not wait,
// and computes for as long as SampleMaker does. Errors are set in the samples.
class TaskWork {
 public:
  // `workspaces` has a workspace for each place of the executor.
  TaskWork(const SampleMaker* maker,
           const std::vector<std::unique_ptr<pipeline::Workspace>>* workspaces,
           const base::Clock* clock)
      : maker_(maker), workspaces_(workspaces), clock_(clock) {}

  // Makes samples until all are made, or the task has taken as long as a short
  // task may. Moves the samples that the task did not come to, to `rest`. Moves
  // samples that are too large for a thread to `large`. Returns the CPU time in
  // nanoseconds.
  std::int64_t Make(int place, std::vector<ReadSample>* samples,
                    std::vector<ReadSample>* rest,
                    std::vector<ReadSample>* large) const;
  // Makes the samples' images in their user-code buffers, and frees the bytes
  // that were read. Moves samples that are too large for a thread to `large`.
  // Returns the CPU time in nanoseconds.
  std::int64_t PutInUserBuffers(int place, std::vector<ReadSample>* samples,
                                std::vector<ReadSample>* large) const;
  // Makes the samples from the results of the user's code. Returns the CPU time
  // in nanoseconds.
  std::int64_t TakeFromUserBuffers(int place,
                                   std::vector<ReadSample>* samples) const;

 private:
  pipeline::Workspace& WorkspaceOf(int place) const {
    return *(*workspaces_)[static_cast<std::size_t>(place)];
  }

  const SampleMaker* const maker_;
  const std::vector<std::unique_ptr<pipeline::Workspace>>* const workspaces_;
  const base::Clock* const clock_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_TASK_WORK_H_
