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
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/base/index_list.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/producer/producer_set.h"
#include "server/sample/large_samples.h"
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

namespace forebay::stream {

// Where a member begins an epoch.
struct EpochStart {
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;  // the number of samples to skip
  // The epoch's samples, as Sampler::Epoch takes them, if the order is listed;
  // else null.
  std::shared_ptr<const base::IndexList> samples = nullptr;
  // The samples of the epoch that the member has seen (null for none), if the
  // order is coordinated; else null.
  std::shared_ptr<const base::IndexList> seen = nullptr;
};

// Makes the batches of one order for all of its members, each batch once for
// all that want it. Each member goes through its epoch at its own pace. A
// complete batch stays in its slot, for members that come to it later, until
// the slot is needed. A member that comes after that has the batch made again.
// A free slot is the credit to read: without a slot, the stream reads nothing.
//
// The stream reserves its least memory while it has members. Slots exist from
// the first Start to Reclaim.
//
// Thread-safe, but Start and Stop of one member come from one thread at a time.
// Made by Create; its own work under way keeps it alive. Owns its slots; the
// members own their channels. Start blocks while the kernel clears memory, Peek
// while it copies a batch; nothing else blocks, and nothing at all for a
// process of the user's, which may be stopped. Errors: those of Create, Join,
// Start and Peek. The error of a sample ends the epoch of each member that
// comes to that sample.
//
// Where producers make the samples, their host may stand still: its trainer is
// paused, say. Other members that wait for batches are told so within a second
// or two, by the error ABORTED, and go on in another stream.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // RESOURCE_EXHAUSTED: there is no memory for reads, or batches are too large
  // for any memory. INVALID_ARGUMENT: batches of samples in lanes.
  static absl::StatusOr<std::shared_ptr<Stream>> Create(
      StreamSpec spec, StreamDeps deps,
      SharingMode sharing_mode = SharingMode::kElastic);

  const SlotSize& slot_size() const { return layout_.slot_size(); }
  std::uint64_t samples_per_epoch() const;
  std::uint64_t batches_per_epoch() const;

  // Adds a member, which may start epochs and takes its batches from `channel`.
  // Its part of the work is charged to `flow`; the stream prepares `depth`
  // batches ahead for it (0: the default). `device`: where they lie, if the
  // spec's place is a GPU. RESOURCE_EXHAUSTED: there is no memory for its
  // slots.
  absl::StatusOr<arena::MemberId> Join(arena::Channel* channel,
                                       schedule::Flow flow,
                                       std::uint32_t depth = 0,
                                       DevicePtr device = nullptr);
  // Says whether the member's job has a cap of reading or of CPU time; at first
  // it has none. Caps hold up only batches that all their readers have caps on.
  void SetCapped(arena::MemberId member, bool capped);
  // Says that the member starts no more epochs; it may still hold batches. Once
  // no member may start one, the stream gives back all memory but for batches
  // that are held.
  void Close(arena::MemberId member);
  // Removes the member: its epoch and its leases end.
  void Forfeit(arena::MemberId member);
  // Whether the member holds a batch, or could still take one. First takes the
  // releases that the member pushed without waking anybody.
  bool Holds(arena::MemberId member);

  // Returns the socket for a host of the member's that forks at most `most`
  // producers, which the first Start needs, if the dataset's samples are
  // produced. Persistent ones outlive the member's rests: slots that they write
  // stay. `owner`: the member's job, for people. INVALID_ARGUMENT: samples are
  // not produced; FAILED_PRECONDITION: there is a host, of the owner that the
  // message names.
  absl::StatusOr<base::Fd> StartProducers(arena::MemberId member,
                                          std::uint32_t most,
                                          bool are_persistent,
                                          const std::string& owner);

  // Whether producers have a part in its samples.
  bool needs_producers() const { return produced_ != nullptr; }
  // Whether new members need another stream: its producers are gone for good,
  // or stand still.
  bool HasEnded() const;

  // Starts an epoch for the member. Returns descriptors of the slots, as
  // SlotsFrom(0); slots that producers write may come later.
  // FAILED_PRECONDITION: the member has an epoch under way, or takes no
  // published batches. INVALID_ARGUMENT: no epoch has that number, or a list
  // does not fit the order. OUT_OF_RANGE: the epoch has fewer samples.
  // RESOURCE_EXHAUSTED: the host has no memory or descriptors left. Those of
  // device::Device and ProducerSet::CheckHost. An error starts nothing.
  absl::StatusOr<std::vector<base::Fd>> Start(arena::MemberId member,
                                              const EpochStart& start);
  // Says that members of `earlier` may go on in this stream, before any starts
  // here. A live dataset's batches wait for them.
  void Follow(const Stream& earlier);
  // Whether samples of these types have room in its slots. Samples of a dataset
  // that is not live always have it.
  bool HasRoomFor(absl::Span<const FieldType> fields) const;
  // Returns descriptors of the slots from number `first` on, in order, as many
  // as one message takes. For a member on a GPU, that of the device part
  // follows each. RESOURCE_EXHAUSTED: no descriptors are left.
  absl::StatusOr<std::vector<base::Fd>> SlotsFrom(arena::MemberId member,
                                                  std::uint32_t first) const;
  // Ends the member's epoch, if one is under way: publishes no more of it.
  void Stop(arena::MemberId member);
  // Gives back memory that the stream does not need just now, and polls for
  // releases, memory and stopped processes that no event tells of. Call it
  // every second or so.
  void Rest();
  // Gives the slots back if no epoch has run for so long and no member holds
  // one, unless persistent producers write them. Returns true if none are left.
  bool Reclaim(std::int64_t idle_nanos);

  // Takes the releases that `member` pushed. INVALID_ARGUMENT: its ring holds
  // garbage.
  absl::Status TakeReleases(arena::MemberId member);

  StreamSnapshot Snapshot(arena::MemberId member);
  // Copies the slot that was published last; what lies on a GPU stands behind
  // the rest. UNAVAILABLE: there is none just now. RESOURCE_EXHAUSTED: there is
  // no memory for the copy. Those of cuda::Gpu.
  absl::StatusOr<SlotCopy> Peek();

 private:
  using Flows = SampleTasks::Flows;
  using Payers = std::shared_ptr<const Flows>;  // at least one
  // The work that follows from a change, to be done without the mutex.
  struct Plan {
    std::vector<storage::ReadRequest> requests;
    std::vector<SampleTask> tasks;
    std::uint32_t first_slots = 0;  // that are to be made, if there are none
    bool grows = false;             // one more slot is to be made
    std::uint32_t staging = 0;  // staging memory that is to be made, batches
    bool looks_again = false;   // for members of earlier streams, soon
  };

  Stream(StreamSpec spec, StreamDeps deps, SharingMode sharing_mode,
         const BatchLayout& layout, base::MemoryReservation read_window);

  std::int64_t Now() const { return deps_.clock->NowNanos(); }

  // Null if the daemon makes the samples.
  SlotMaker::Producers Producers() {
    return {.set = produced_ == nullptr ? nullptr : produced_->producers(),
            .stage = spec_.producers_stage(),
            .keep = [this](base::MemoryReservation lent, bool is_slot) {
              return KeepLent(std::move(lent), is_slot);
            }};
  }
  // Ends the member's part in the batches in flight: they go on for others that
  // want them, or are abandoned.
  void RetireLocked(const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Publishes complete batches, begins new ones in free slots, and requests
  // their samples. The caller executes the plan without the mutex.
  Plan PlanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Changes what the mutex guards, by a function that is called with it held
  // and returns false if there is nothing to do; then plans and executes what
  // follows.
  void Update(absl::FunctionRef<bool()> change) ABSL_LOCKS_EXCLUDED(mutex_);
  void AdvanceLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has the first slots made, if producers write them, whose host answers when
  // it can.
  void WantFirstSlotsLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the epoch of a member that runs with an error.
  void EndEpochLocked(Member& member, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends all epochs with an error of the producers', if it is one.
  void EndAllEpochs(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether several members have an epoch under way.
  bool IsShared() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Looks after the producers, and sends members away that wait for a host that
  // stands still.
  void LookAfterProducers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Enters a thread that polls for releases before it leaves. While one is
  // there, members need not wake the stream. While the stream only waits for
  // bytes, none is there.
  void EnterLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave();
  // Tells the members whether the stream polls their rings. Plans again if a
  // ring changed before its member was told that polling ended.
  void TellLookingLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeliverLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Charges each batch in flight to all members that run. A batch that only
  // members with caps want is charged to these, so that a cap holds it up only
  // until another member comes to it.
  void ChargeLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChargeToLocked(Batch& batch, const Flows& charged, Plan* plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void SetPayers(const Payers& payers, storage::ReadRequest* request);
  void ReadLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Memory that was given back: its destruction may take milliseconds, or wait
  // for a GPU. Destroyed without the mutex.
  struct Freed {
    std::vector<SlotParts> slots;
    std::vector<DevicePart> device_parts;
    std::vector<StagingPool::Memory> staging;
  };
  // Keeps the reservation of memory that producers write, until the result is
  // released; then the stream takes it back.
  std::shared_ptr<const void> KeepLent(base::MemoryReservation lent,
                                       bool is_slot);
  void TakeBack(base::MemoryReservation lent, bool is_slot)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveDeviceLocked(const device::Device& device, Freed* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A closed member pays for the slots that it holds: others have theirs all
  // the same.
  void PayForHeldLocked(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TrimLocked(Freed* freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseIfNoneIsOpenLocked(Freed* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Execute(Plan plan);
  void LookAgain();
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
  // Submits a further task for a sample that is under way.
  void SubmitFor(const PendingSample& pending, executor::Executor::Task task);
  void RunTask(int worker, const SampleTask& task);
  // Makes samples until all are made, or it has taken as long as a short task
  // may; returns the rest.
  std::vector<ReadSample> MakeSome(int worker,
                                   std::vector<ReadSample>* samples);
  // Queues samples that a task has left, and submits the tasks that they and
  // these flows' samples want.
  void SubmitMore(const Flows& flows, std::vector<ReadSample> rest);
  // Has the samples made by a producer, or the user's code run; OnProduced goes
  // on. If that has no worker, it is called again when it has one.
  void Produce(int worker, const SampleTask& task);
  void OnProduced(ProducedSamples::Outcome outcome,
                  std::optional<std::uint32_t> lane);
  // Notes how long a producer took for each of some samples.
  void NoteTime(std::int64_t nanos);
  // Queues a sample that was lost with its producer.
  void MakeAgainLocked(ReadSample sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeLater(ProducedSamples::Outcome outcome,
                 std::optional<std::uint32_t> lane);
  // Puts the samples on the desks of the user's code, but for large ones, which
  // come again; makes them of its results. Both return the CPU time.
  std::int64_t LayOnDesks(int worker, std::vector<ReadSample>* samples);
  std::int64_t TakeFromDesks(int worker, std::vector<ReadSample>* samples);
  void QueueAgain(ReadSample sample);
  // Takes out those that are too large for a worker; queues them.
  void MakeLargeInTurn(std::vector<ReadSample>* samples);
  // Queues the sample for the shared workspace.
  void MakeInTurn(ReadSample sample);
  void Finish(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos);
  void BookLocked(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishSampleLocked(const ReadSample& sample, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls OnCopied, and keeps the stream alive until then.
  BatchCompletion::Copied CopiedOf(Batch* batch);
  void OnCopied(Batch* batch, const CopyEnd& copy);

  // Counts the members that have started. Streams that follow this one see it.
  void CountStartedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StreamSpec spec_;
  const StreamDeps deps_;
  const Aside aside_;
  const BatchLayout layout_;
  CachedDecoder variants_;
  const SampleMaker maker_;
  const std::unique_ptr<ProducedSamples> produced_;  // null if none are
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
  SlotMaker slot_maker_;  // takes the mutex
  const std::shared_ptr<BatchScheduler::Count> started_members_ =
      std::make_shared<BatchScheduler::Count>(0);
  // Keeps the stream alive while reads are in flight, for their callbacks.
  std::shared_ptr<Stream> alive_ ABSL_GUARDED_BY(mutex_);

  Flows flows_ ABSL_GUARDED_BY(mutex_);  // of the members that run, or ran last
  std::uint32_t samples_to_decode_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint32_t at_work_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that poll
  // MemberSet::Heard when the last plan was made.
  std::uint64_t heard_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t used_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint32_t starting_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of Start
  // The member whose host makes the samples; 0: none.
  arena::MemberId host_owner_ ABSL_GUARDED_BY(mutex_) = 0;
  // When the host was looked at last, and whether it stood still then.
  std::int64_t looked_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN / 2;
  bool host_stands_still_ ABSL_GUARDED_BY(mutex_) = false;
  bool looks_again_ ABSL_GUARDED_BY(mutex_) = false;  // LookAgain is to come
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_H_
