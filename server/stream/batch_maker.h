#ifndef FOREBAY_SERVER_STREAM_BATCH_MAKER_H_
#define FOREBAY_SERVER_STREAM_BATCH_MAKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/executor/executor.h"
#include "server/pipeline/workspace.h"
#include "server/sample/large_samples.h"
#include "server/storage/byte_source.h"
#include "server/stream/aside.h"
#include "server/stream/batch.h"
#include "server/stream/batch_completion.h"
#include "server/stream/batch_layout.h"
#include "server/stream/produced_samples.h"
#include "server/stream/read_sample.h"
#include "server/stream/sample_maker.h"
#include "server/stream/sample_tasks.h"
#include "server/stream/slot_growth.h"
#include "server/stream/stream_plan.h"
#include "server/stream/stream_spec.h"
#include "server/stream/stream_state.h"
#include "server/stream/task_work.h"

namespace forebay::stream {

// Makes the batches of a stream, from a free slot to the publication. After a
// change of the stream's state by Update, plans what follows, and carries the
// plan out: sends reads, submits tasks, and has memory made. A change after
// which no work can begin needs no plan.
//
// Thread-safe. Owns the tasks' and reads' callbacks, which keep the owner alive
// that SetOwner names; the collaborators outlive it. No lock is held while
// anything is read, decoded, copied or allocated. Tasks compute; nothing
// blocks, except that a worker's task waits as ProducedSamples says. The error
// of a sample ends the epoch of each member that comes to that sample.
class BatchMaker {
 public:
  struct Deps {
    const StreamSpec* spec = nullptr;
    const StreamDeps* stream_deps = nullptr;
    const BatchLayout* layout = nullptr;
    const SampleMaker* sample_maker = nullptr;
    // Null if the daemon makes the samples.
    ProducedSamples* produced = nullptr;
    sample::LargeSamples* large = nullptr;
    StreamState* state = nullptr;
  };

  BatchMaker(const Deps& deps, const Aside& aside);

  // Names the owner of this object, which tasks and callbacks keep alive.
  // Called once, before all other methods.
  void SetOwner(const std::shared_ptr<const void>& owner);

  // Calls `change` with the state's mutex held. `change` changes the state and
  // returns whether it did. If so, plans and executes what follows.
  void Update(absl::FunctionRef<bool()> change)
      ABSL_LOCKS_EXCLUDED(state_->mutex) {
    Execute(Change(change));
  }
  // Does what Update does, but leaves it to the caller to execute the plan,
  // without the mutex.
  StreamPlan Change(absl::FunctionRef<bool()> change)
      ABSL_LOCKS_EXCLUDED(state_->mutex);
  void Execute(StreamPlan plan) ABSL_LOCKS_EXCLUDED(state_->mutex);

  // Ends the epochs of all members with `status`, unless it is OK.
  void EndAllEpochs(const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(state_->mutex);
  // Submits a further task for a sample whose first task is under way.
  void SubmitFor(const PendingSample& pending, executor::Executor::Task task);

  SlotGrowth& slots() { return slots_; }

 private:
  using Flows = SampleTasks::Flows;

  std::int64_t Now() const { return deps_.stream_deps->clock->NowNanos(); }
  std::shared_ptr<BatchMaker> Self() const { return self_.lock(); }

  // Publishes complete batches, begins new ones in free slots, and requests
  // their samples. The caller executes the plan without the mutex.
  StreamPlan PlanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void AdvanceLocked(StreamPlan* plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void ReadLocked(StreamPlan* plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Tells the members whether the stream polls their rings, and plans again if
  // a ring has changed.
  void TellMembersLocked(StreamPlan* plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Ends what ReleasePolling::Enter began.
  void Leave();
  // Plans again in some milliseconds.
  void Recheck();

  void OnRead(PendingSample* pending,
              absl::StatusOr<storage::ReadResult> result);
  void Submit(std::optional<SampleTask> task);
  void RunTask(int place, const SampleTask& task);
  // Queues the samples that a task has left. Then submits the tasks that their
  // queues and the queue of `flows` want.
  void SubmitMore(const Flows& flows, std::vector<ReadSample> rest);
  // Gives the task's samples to a worker, which makes them or runs the user's
  // code on them. OnProduced then finishes the samples. If that needs a thread
  // and the task has given its own up, OnProduced submits a task that calls it
  // again.
  void Produce(int place, const SampleTask& task);
  void OnProduced(ProducedSamples::Outcome outcome,
                  std::optional<std::uint32_t> affinity);
  void TakeLater(ProducedSamples::Outcome outcome,
                 std::optional<std::uint32_t> affinity);
  // Tells the samples' cost (SampleCost) how long a worker took for a sample.
  void NoteTime(std::int64_t nanos);
  // Queues the samples, which are too large for a thread, for the shared
  // workspace.
  void MakeInTurn(std::vector<ReadSample> large);
  void MakeInTurn(ReadSample sample);
  // Makes a sample in the shared workspace. Returns false if the sample was
  // abandoned.
  bool MakeIn(pipeline::Workspace& shared, ReadSample sample);
  void QueueAgain(ReadSample sample);
  void Finish(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos);
  // Returns a callback that calls OnCopied and keeps the owner alive until
  // then.
  BatchCompletion::Copied CopiedOf(Batch* batch);
  void OnCopied(Batch* batch, const CopyEnd& copy);

  const Deps deps_;
  StreamState* const state_;
  const TaskWork work_;
  SlotGrowth slots_;
  // This object; not null once SetOwner was called. A callback that locks this
  // pointer keeps the owner alive.
  std::weak_ptr<BatchMaker> self_;
  // Keeps the owner alive while reads are in flight, for their callbacks.
  std::shared_ptr<BatchMaker> alive_ ABSL_GUARDED_BY(state_->mutex);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_MAKER_H_
