#ifndef FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_
#define FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/worker_socket.h"
#include "server/executor/executor.h"
#include "server/stream/batch_layout.h"
#include "server/stream/read_sample.h"
#include "server/stream/stream_spec.h"
#include "server/worker/task_socket.h"
#include "server/worker/worker.h"
#include "server/worker/worker_set.h"

namespace forebay::stream {

// Gives the samples of a stream to workers, which make them straight into their
// rows of the slot or of staging memory. If the pipeline has user code, the
// workers only run that code, on the samples' user-code buffers.
//
// While a worker computes, the task that asked it waits for some milliseconds
// on its thread of the executor, so that the worker gets that thread's core.
// The task gives its thread up if no worker is idle, or if the worker takes
// longer, sleeps or is stopped.
//
// Thread-safe. Shares the WorkerSet with the claims on its memory. All that the
// constructor takes outlives this object. Make blocks for some milliseconds
// while the worker computes. Errors are set in the samples. UNKNOWN: the user's
// code failed, with its own message, or workers ended too often while they had
// the sample. ABORTED: there is no worker pool, or it is gone. Other errors are
// those of WorkerSet.
class ProducedSamples {
 public:
  // The result of a task.
  struct Outcome {
    // The samples, each with its `status`, or with `lost` if it is to be made
    // again.
    std::vector<ReadSample> samples;
    // The CPU time that the samples took.
    std::int64_t cpu_nanos = 0;
    // The nanoseconds from the request to the answer, without the time in which
    // the worker waited for a core; nullopt if there was no answer.
    std::optional<std::int64_t> took_nanos;
    // The executor's place at which the task runs; nullopt if the task has
    // given its thread up.
    std::optional<int> place;
  };
  using Done = std::function<void(Outcome outcome)>;
  // Submits a task to the executor, charged to the flows that pay for
  // `pending`.
  using Submit = std::function<void(const PendingSample& pending,
                                    executor::Executor::Task task)>;

  // `submit` may be called on any thread, and is called without locks.
  ProducedSamples(const StreamSpec* spec, const BatchLayout* layout,
                  const StreamDeps* deps, Submit submit);

  const std::shared_ptr<worker::WorkerSet>& workers() const { return workers_; }

  // Returns the number of the worker that is to make the sample; nullopt if any
  // worker may.
  std::optional<std::uint32_t> AffinityOf(const PendingSample& pending) const;

  // Has one worker make the samples. If the first sample has an affinity, the
  // worker is the one with the affinity's number. Samples that have failed are
  // passed over. Called by a task that runs at `place` of the executor; at most
  // workers()->most() such tasks are under way at once. Calls `done` on this
  // thread, or later on another.
  void Make(int place, std::vector<ReadSample> samples, Done done);

 private:
  using WorkerPtr = worker::WorkerPtr;
  using AnswerOr = absl::StatusOr<worker::TaskAnswer>;
  // A task under way. It is shared, because a std::function must be copyable.
  struct Work {
    std::vector<ReadSample> samples;
    Done done;
    WorkerPtr worker = nullptr;
    // The time at which the worker got the task.
    std::int64_t asked_at_nanos = 0;
    // The worker's Process::RunQueueNanos at `asked_at_nanos`.
    std::optional<std::int64_t> run_queue_nanos = std::nullopt;
  };
  using WorkPtr = std::shared_ptr<Work>;

  // Continues a task with its worker, or with the error that there is none.
  void Run(int place, const WorkPtr& work, absl::StatusOr<WorkerPtr> worker);
  // Sends the worker the samples that are still wanted. Returns whether there
  // are any.
  bool Ask(Work& work);
  // Waits for the answer while the worker computes. DEADLINE_EXCEEDED: the
  // worker sleeps, is stopped, or takes too long.
  static AnswerOr AwaitBusy(worker::Worker& worker);
  // Continues a task after the worker's answer. `place` is nullopt if the task
  // has given its thread up.
  void OnAnswer(const WorkPtr& work, AnswerOr answer, std::optional<int> place);
  // Returns Outcome::took_nanos. The time in which the worker waits for a core
  // does not count. If it did, tasks on a host with too few cores would shrink
  // to single samples, as they do for workers that sleep. Each sample would
  // then be made with cold caches.
  std::int64_t TookNanos(const Work& work) const;
  // Ends the task of a worker that has answered or is gone: gives the worker
  // back and calls `done`.
  void Finish(const WorkPtr& work, const AnswerOr& answer,
              std::optional<int> place);
  // Sets `status` and `lost` of each sample, as the answer says.
  void Take(Work& work, const AnswerOr& answer);
  // Appends the sample's description to `behind`, the bytes that follow a task
  // in its message.
  void Describe(const PendingSample& pending,
                std::vector<std::uint8_t>* behind) const;
  // Returns the number by which tasks name memory of the sample's batch.
  std::uint32_t NumberOf(const std::uint8_t* memory) const;

  const StreamSpec* const spec_;
  const BatchLayout* const layout_;
  const StreamDeps* const deps_;
  const Submit submit_;
  const std::shared_ptr<worker::WorkerSet> workers_;
  // CPU time of tasks that had given their threads up. The next task that keeps
  // its thread is charged for this time too.
  std::atomic<std::int64_t> owed_nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PRODUCED_SAMPLES_H_
