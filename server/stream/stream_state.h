#ifndef FOREBAY_SERVER_STREAM_STREAM_STATE_H_
#define FOREBAY_SERVER_STREAM_STREAM_STATE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/sample/large_samples.h"
#include "server/slots/slot_pool.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch_cache.h"
#include "server/stream/batch_charges.h"
#include "server/stream/batch_completion.h"
#include "server/stream/batch_layout.h"
#include "server/stream/batch_scheduler.h"
#include "server/stream/epoch_pairs.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/member_memory.h"
#include "server/stream/member_set.h"
#include "server/stream/prefetcher.h"
#include "server/stream/produced_samples.h"
#include "server/stream/publisher.h"
#include "server/stream/release_polling.h"
#include "server/stream/sample_progress.h"
#include "server/stream/sample_tasks.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/staging_pool.h"
#include "server/stream/stream_plan.h"
#include "server/stream/stream_snapshot.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// The state of a stream that its mutex guards: the members, their batches and
// memory, and the samples under way. The methods are changes that concern
// several of these objects.
//
// Thread-safe as the annotations say: whoever uses a guarded field, or calls a
// method, holds the mutex. The stream owns it. What the constructor takes
// outlives it. Never blocks. Errors: BeginStartLocked.
struct StreamState {
  // The collaborators of the guarded objects.
  struct Deps {
    const StreamSpec* spec = nullptr;
    const BatchLayout* layout = nullptr;
    base::MemoryBudget* budget = nullptr;
    Member::NextUseDeps next_use = {};
    // The number of CPUs of the executor.
    int cpus = 0;
    // Null if the daemon makes the samples.
    const ProducedSamples* produced = nullptr;
    sample::LargeSamples* large = nullptr;
  };

  // `variant` is the variant that reads prefer. `read_window` is the least
  // memory for bytes in flight.
  StreamState(const Deps& deps, SharingMode sharing_mode,
              storage::Variant variant, base::MemoryReservation read_window);

  // Ends the member's part in the batches in flight. Batches that other members
  // want go on for them; the others are abandoned.
  void RetireLocked(const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Begins a call of Stream::Start, which EndStartLocked ends. Returns the
  // terms of the member. FAILED_PRECONDITION: the member has an epoch under
  // way, or takes no published batches.
  absl::StatusOr<Member::Terms> BeginStartLocked(slots::MemberId member,
                                                 std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void EndStartLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { --starting; }
  // Ends the running epoch of a member that wants no more of it.
  void StopEpochLocked(Member* member, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Ends the running epoch of a member with an error.
  void EndEpochLocked(Member* member, const absl::Status& status,
                      std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Ends the running epochs of all members with an error.
  void EndAllEpochsLocked(const absl::Status& status, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Publishes complete batches, begins new ones in free slots, and charges all
  // batches in flight. Adds to `plan` what follows, but no reads of samples
  // that were not requested before.
  void BeginBatchesLocked(StreamPlan* plan, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Tells the members up to which position their samples were requested.
  void NoteRequestedLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Whether no epoch has run for `nanos`, and no slot is leased, being filled
  // or being made.
  bool IsIdleForLocked(std::int64_t nanos, std::int64_t now_nanos) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Returns the state as the member sees it.
  StreamSnapshot SnapshotLocked(slots::MemberId member, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Counts the members that have started, for streams that follow this one.
  void CountStartedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  mutable base::Mutex mutex;
  Prefetcher prefetcher ABSL_GUARDED_BY(mutex);
  BatchCache batch_cache ABSL_GUARDED_BY(mutex);
  StagingPool staging ABSL_GUARDED_BY(mutex);
  MemberSet members ABSL_GUARDED_BY(mutex);
  InFlightBatches in_flight ABSL_GUARDED_BY(mutex);
  BatchScheduler scheduler ABSL_GUARDED_BY(mutex);
  Publisher publisher ABSL_GUARDED_BY(mutex);
  BatchCompletion completion ABSL_GUARDED_BY(mutex);
  EpochPairs epochs ABSL_GUARDED_BY(mutex);
  SampleTasks tasks ABSL_GUARDED_BY(mutex);
  SampleProgress progress ABSL_GUARDED_BY(mutex);
  BatchCharges charges ABSL_GUARDED_BY(mutex);
  MemberMemory memory ABSL_GUARDED_BY(mutex);
  ReleasePolling polling ABSL_GUARDED_BY(mutex);
  // The time at which an epoch last began or ended.
  std::int64_t used_at_nanos ABSL_GUARDED_BY(mutex) = 0;
  // The number of calls of Stream::Start under way.
  std::uint32_t starting ABSL_GUARDED_BY(mutex) = 0;
  // Whether a plan that StreamPlan::rechecks asked for is still to come.
  bool rechecks ABSL_GUARDED_BY(mutex) = false;
  // Whether workers write the slots.
  const bool has_workers;
  // The number of members that have started; CountStartedLocked sets it.
  const std::shared_ptr<BatchScheduler::Count> started_members =
      std::make_shared<BatchScheduler::Count>(0);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_STATE_H_
