#ifndef FOREBAY_SERVER_STREAM_STREAM_H_
#define FOREBAY_SERVER_STREAM_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/index_list.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/sample/large_samples.h"
#include "server/slots/channel.h"
#include "server/slots/slot_pool.h"
#include "server/stream/aside.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/batch_completion.h"
#include "server/stream/batch_layout.h"
#include "server/stream/batch_policy.h"
#include "server/stream/batch_scheduler.h"
#include "server/stream/cached_decoder.h"
#include "server/stream/epoch_pairs.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/prefetcher.h"
#include "server/stream/produced_samples.h"
#include "server/stream/publisher.h"
#include "server/stream/read_sample.h"
#include "server/stream/sample_maker.h"
#include "server/stream/sample_tasks.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/slot_copy.h"
#include "server/stream/slot_maker.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_reservation.h"
#include "server/stream/staging_pool.h"
#include "server/stream/stream_snapshot.h"
#include "server/stream/stream_spec.h"
#include "server/worker/worker_set.h"

namespace forebay::stream {

// The place at which a member begins an epoch.
struct EpochStart {
  std::uint64_t epoch = 0;
  // The number of samples to skip.
  std::uint64_t first_sample = 0;
  // The epoch's samples, as Sampler::Epoch takes them; null unless the order is
  // listed.
  std::shared_ptr<const base::IndexList> samples = nullptr;
  // The samples of the epoch that the member has already seen, if the order is
  // coordinated; null for none.
  std::shared_ptr<const base::IndexList> seen = nullptr;
};

// Makes the batches of one order for all of its members, each batch once for
// all that want it. Each member goes through its epoch at its own pace. A
// complete batch stays in its slot, for members that come to it later, until
// the slot is needed. If a member comes to the batch after that, the batch is
// made again. A free slot is the credit to read: without a slot, the stream
// reads nothing.
//
// The stream reserves its least memory while it has members. Slots exist from
// the first Start to Reclaim.
//
// Thread-safe, but Start and Stop of one member come from one thread at a time.
// Its users, and its own work under way, keep it alive. Owns its slots; the
// members own their channels. Start blocks while the kernel or a driver makes
// memory, and Peek while it copies a batch. Nothing else blocks, and nothing
// waits for a process of the user's, which may be stopped. Errors: those of
// Create, Join, Start and Peek. The error of a sample ends the epoch of each
// member that comes to that sample.
//
// If workers make the samples, their worker pool may stand still, for example
// because its trainer is paused. Other members that wait for batches then get
// the error ABORTED within a second or two, and go on in another stream.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // Creates a stream without members. RESOURCE_EXHAUSTED: there is no memory
  // for reads, or batches are too large for any memory. INVALID_ARGUMENT: the
  // samples have worker affinity and a batch would have several.
  static absl::StatusOr<std::shared_ptr<Stream>> Create(
      StreamSpec spec, StreamDeps deps,
      SharingMode sharing_mode = SharingMode::kElastic);

  const SlotSize& slot_size() const { return layout_.slot_size(); }
  std::uint64_t samples_per_epoch() const;
  std::uint64_t batches_per_epoch() const;

  // Adds a member, which may start epochs and takes its batches from `channel`.
  // Its part of the work is charged to `flow`; the stream prepares `depth`
  // batches ahead for it (0: the default). `device` is the GPU on which its
  // batches lie; null if the spec's place is the host. RESOURCE_EXHAUSTED:
  // there is no memory for its slots.
  absl::StatusOr<slots::MemberId> Join(slots::Channel* channel,
                                       schedule::Flow flow,
                                       std::uint32_t depth = 0,
                                       DevicePtr device = nullptr);
  // Sets whether the member's job has a cap of reading or of CPU time; at first
  // it has none. Caps hold up only batches whose readers all have caps.
  void SetCapped(slots::MemberId member, bool capped);
  // Tells that the member starts no more epochs; it may still hold batches.
  // Once no member may start one, the stream gives back all memory but that of
  // held batches.
  void Close(slots::MemberId member);
  // Removes the member: its epoch and its leases end.
  void RemoveMember(slots::MemberId member);
  // Whether the member holds a batch, or could still take one. First handles
  // the releases that the member pushed without waking anybody.
  bool Holds(slots::MemberId member);

  // Returns the socket for a new worker pool, which belongs to the member and
  // forks at most `most` workers. If needs_workers() is true, the first Start
  // needs a worker pool. Persistent workers live on between epochs, so the
  // slots that they write stay. `owner` names the member's job, for messages.
  // INVALID_ARGUMENT: no workers are needed, or `most` is too small.
  // FAILED_PRECONDITION: there is a worker pool already; the message names its
  // owner.
  absl::StatusOr<base::Fd> StartWorkers(slots::MemberId member,
                                        std::uint32_t most, bool are_persistent,
                                        const std::string& owner);

  // Whether workers make the samples, or run user code on them.
  bool needs_workers() const { return produced_ != nullptr; }
  // Whether new members need another stream, because this one's worker pool is
  // gone for good, stands still, or lacks something (pool_lack.h).
  bool HasEnded() const;

  // Starts an epoch for the member. Returns descriptors of the slots, as
  // SlotsFrom(0) does; slots that workers write may come later. An error starts
  // nothing. FAILED_PRECONDITION: the member has an epoch under way, or takes
  // no published batches. INVALID_ARGUMENT: no epoch has that number, or a list
  // does not fit the order. OUT_OF_RANGE: the epoch has fewer samples.
  // RESOURCE_EXHAUSTED: the host has no memory or descriptors left. Other
  // errors: those of device::Device and WorkerSet::CheckPool.
  absl::StatusOr<std::vector<base::Fd>> Start(slots::MemberId member,
                                              const EpochStart& start);
  // Tells, before any member starts here, that members of `earlier` may go on
  // in this stream. A live dataset's batches wait for them.
  void Follow(const Stream& earlier);
  // Whether samples of these types have room in the stream's slots; always true
  // for a dataset that is not live.
  bool HasRoomFor(absl::Span<const FieldType> fields) const;
  // Returns descriptors of the slots from number `first` on, in order, as many
  // as one message takes. For a member on a GPU, each slot's descriptor is
  // followed by that of its device part. RESOURCE_EXHAUSTED: no descriptors are
  // left.
  absl::StatusOr<std::vector<base::Fd>> SlotsFrom(slots::MemberId member,
                                                  std::uint32_t first) const;
  // Ends the member's epoch, if one is under way, and publishes no more of it.
  void Stop(slots::MemberId member);
  // Gives back memory that the stream does not need now. Also does what no
  // event triggers: takes releases, lets slots that could not be made be tried
  // again, and looks after workers that have died or stand still. Called every
  // second or so.
  void ReleaseIdleMemory();
  // Gives the slots back if no epoch has run for `idle_nanos` and no member
  // holds a slot, unless persistent workers write them. Returns whether no slot
  // is left.
  bool Reclaim(std::int64_t idle_nanos);

  // Handles the releases that `member` pushed. INVALID_ARGUMENT: its ring has
  // impossible values.
  absl::Status TakeReleases(slots::MemberId member);

  StreamSnapshot Snapshot(slots::MemberId member);
  // Copies the slot of the batch that was published last: the part on the host,
  // then the part on a GPU. UNAVAILABLE: that batch is not cached now.
  // RESOURCE_EXHAUSTED: there is no memory for the copy. Other errors: those of
  // cuda::Gpu.
  absl::StatusOr<SlotCopy> Peek();

 private:
  using Flows = SampleTasks::Flows;
  // The flows that pay for a read: at least one.
  using Payers = std::shared_ptr<const Flows>;
  // The work that follows from a change, to be done without the mutex.
  struct Plan {
    std::vector<storage::ReadRequest> requests;
    std::vector<SampleTask> tasks;
    // The number of first slots to be made, if there are none.
    std::uint32_t first_slots = 0;
    // Whether one more slot is to be made.
    bool grows = false;
    // The number of batches for which staging memory is to be made.
    std::uint32_t staging = 0;
    // Whether to plan again soon, for members of earlier streams.
    bool rechecks = false;
  };

  Stream(StreamSpec spec, StreamDeps deps, SharingMode sharing_mode,
         const BatchLayout& layout, base::MemoryReservation read_window);

  std::int64_t Now() const { return deps_.clock->NowNanos(); }

  // Returns the SlotMaker's view of the workers; its set is null if the daemon
  // makes the samples.
  SlotMaker::Workers Workers() {
    return {.set = produced_ == nullptr ? nullptr : produced_->workers(),
            .stage = spec_.workers_stage(),
            .keep = [this](base::MemoryReservation lent, bool is_slot) {
              return KeepLent(std::move(lent), is_slot);
            }};
  }
  // Ends the member's part in the batches in flight. Batches that other members
  // want go on for them; the others are abandoned.
  void RetireLocked(const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Publishes complete batches, begins new ones in free slots, and requests
  // their samples. The caller executes the plan without the mutex.
  Plan PlanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `change` with the mutex held. `change` changes the guarded state and
  // returns whether it did. If so, plans and executes what follows.
  void Update(absl::FunctionRef<bool()> change) ABSL_LOCKS_EXCLUDED(mutex_);
  void AdvanceLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Plans to make the first slots, if workers write the slots and none exist.
  void WantFirstSlotsLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the running epoch of a member with an error.
  void EndEpochLocked(Member& member, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the epochs of all members with `status`, unless it is OK.
  void EndAllEpochs(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether several members have an epoch under way.
  bool IsShared() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Looks after the workers (WorkerSet::Look), and ends the epochs of members
  // that wait for a worker pool that stands still.
  void LookAfterWorkers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Registers a polling thread, which polls for releases before it calls Leave.
  // While any is registered, members need not wake the stream. None is
  // registered while the stream only waits for bytes.
  void EnterLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave();
  // Tells the members whether the stream polls their rings. Plans again if a
  // ring changed before its member was told that polling ended.
  void TellLookingLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeliverLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Charges each batch in flight to all members that run. A batch that only
  // members with caps want is charged to them alone. A cap thus holds a batch
  // up only until a member without a cap comes to it.
  void ChargeLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChargeToLocked(Batch& batch, const Flows& charged, Plan* plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void SetPayers(const Payers& payers, storage::ReadRequest* request);
  void ReadLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Memory that was given back. It is destroyed without the mutex, since that
  // may take milliseconds or wait for a GPU.
  struct Freed {
    std::vector<SlotParts> slots;
    std::vector<DevicePart> device_parts;
    std::vector<StagingPool::Memory> staging;
  };
  // Wraps the reservation of memory that workers write. When the result is
  // released, the stream takes the reservation back.
  std::shared_ptr<const void> KeepLent(base::MemoryReservation lent,
                                       bool is_slot);
  void TakeBack(base::MemoryReservation lent, bool is_slot)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveDeviceLocked(const device::Device& device, Freed* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reduces what a closed member pays for to the slots that it holds.
  void PayForHeldLocked(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TrimLocked(Freed* freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseIfNoneIsOpenLocked(Freed* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Execute(Plan plan);
  void Recheck();
  void MakeSlot();
  void OnSlot(absl::StatusOr<std::vector<SlotParts>> made);
  void MakeFirstSlots(std::uint32_t slots);
  void OnFirstSlots(std::uint32_t slots,
                    absl::StatusOr<std::vector<SlotParts>> made);
  void MakeStaging(std::uint32_t batches);
  void OnStaging(std::uint32_t batches,
                 absl::StatusOr<std::vector<StagingPool::Memory>> made);

  void OnRead(PendingSample* pending,
              absl::StatusOr<storage::ReadResult> result);
  void Submit(std::optional<SampleTask> task);
  // Submits a further task for a sample whose first task is under way.
  void SubmitFor(const PendingSample& pending, executor::Executor::Task task);
  void RunTask(int place, const SampleTask& task);
  // Makes samples until all are made, or the task has taken as long as a short
  // task may. Returns the samples that it has not made.
  std::vector<ReadSample> MakeSome(int place, std::vector<ReadSample>* samples);
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
  // Tells the samples' cost (SampleCost) how long a worker took for a sample.
  void NoteTime(std::int64_t nanos);
  // Queues a sample that was lost with its worker.
  void MakeAgainLocked(ReadSample sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeLater(ProducedSamples::Outcome outcome,
                 std::optional<std::uint32_t> affinity);
  // PutInUserBuffers makes the samples' images in their user-code buffers.
  // Samples that are too large for a thread are queued (MakeInTurn).
  // TakeFromUserBuffers makes the samples from the code's results. Both return
  // the CPU time in nanoseconds.
  std::int64_t PutInUserBuffers(int place, std::vector<ReadSample>* samples);
  std::int64_t TakeFromUserBuffers(int place, std::vector<ReadSample>* samples);
  void QueueAgain(ReadSample sample);
  // Removes the samples that are too large for a thread, and queues them.
  void MakeLargeInTurn(std::vector<ReadSample>* samples);
  // Queues the sample for the shared workspace.
  void MakeInTurn(ReadSample sample);
  void Finish(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos);
  void BookLocked(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishSampleLocked(const ReadSample& sample, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns a callback that calls OnCopied and keeps the stream alive until
  // then.
  BatchCompletion::Copied CopiedOf(Batch* batch);
  void OnCopied(Batch* batch, const CopyEnd& copy);

  // Counts the members that have started, for streams that follow this one.
  void CountStartedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StreamSpec spec_;
  const StreamDeps deps_;
  const Aside aside_;
  const BatchLayout layout_;
  CachedDecoder variants_;
  const SampleMaker maker_;
  // Null if the daemon makes the samples.
  const std::unique_ptr<ProducedSamples> produced_;
  const std::shared_ptr<sample::LargeSamples> large_;
  mutable base::Mutex mutex_;
  Prefetcher prefetcher_ ABSL_GUARDED_BY(mutex_);
  BatchCache batch_cache_ ABSL_GUARDED_BY(mutex_);
  StagingPool staging_ ABSL_GUARDED_BY(mutex_);
  MemberSet members_ ABSL_GUARDED_BY(mutex_);
  InFlightBatches in_flight_ ABSL_GUARDED_BY(mutex_);
  BatchScheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  Publisher publisher_ ABSL_GUARDED_BY(mutex_);
  BatchCompletion completion_ ABSL_GUARDED_BY(mutex_);
  EpochPairs epochs_ ABSL_GUARDED_BY(mutex_);
  SampleTasks tasks_ ABSL_GUARDED_BY(mutex_);
  // Thread-safe; locks mutex_ itself.
  SlotMaker slot_maker_;
  const std::shared_ptr<BatchScheduler::Count> started_members_ =
      std::make_shared<BatchScheduler::Count>(0);
  // Keeps the stream alive while reads are in flight, for their callbacks.
  std::shared_ptr<Stream> alive_ ABSL_GUARDED_BY(mutex_);

  // The flows of the members that run, or ran last.
  Flows flows_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t samples_to_decode_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of polling threads.
  std::uint32_t at_work_ ABSL_GUARDED_BY(mutex_) = 0;
  // MemberSet::Heard when the last plan was made.
  std::uint64_t heard_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t used_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of calls of Start under way.
  std::uint32_t starting_ ABSL_GUARDED_BY(mutex_) = 0;
  // The member whose worker pool makes the samples; 0 if there is none.
  slots::MemberId pool_owner_ ABSL_GUARDED_BY(mutex_) = 0;
  // The time at which the worker pool was last looked at, and whether it stood
  // still then.
  std::int64_t looked_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN / 2;
  bool pool_stands_still_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether a plan that Recheck has asked for is still to come.
  bool rechecks_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_H_
