#ifndef FOREBAY_SERVER_STREAM_STREAM_H_
#define FOREBAY_SERVER_STREAM_STREAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/base/index_list.h"
#include "server/base/mutex.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/batch_layout.h"
#include "server/stream/batch_scheduler.h"
#include "server/stream/cached_decoder.h"
#include "server/stream/decode_queue.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/large_samples.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/prefetcher.h"
#include "server/stream/publisher.h"
#include "server/stream/sample_cost.h"
#include "server/stream/sample_maker.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/sharing_state.h"
#include "server/stream/slot_reservation.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// All of a stream at one moment, as one of its members sees it.
struct StreamSnapshot {
  std::uint64_t epoch = 0;
  bool running = false;
  std::uint32_t slots = 0;
  arena::SlotCounts slot_counts;
  std::uint32_t leases = 0;  // the member's
  std::uint32_t depth = 0;   // batches that may be in the making or ready
  PrefetchSnapshot prefetch;
  std::uint32_t samples_to_decode = 0;
  Production made;  // for the member
  MemberCounters taken;
  std::uint32_t members = 0;  // that have an epoch under way
  std::uint64_t behind = 0;   // samples between it and who is ahead of all
  SharingState sharing_state = SharingState::kAlone;
};

// A copy of a published slot, and its part of the memory budget.
struct SlotCopy {
  base::MemoryReservation reservation;
  std::vector<std::uint8_t> bytes;
};

// Makes the batches of one order for all of its members, each batch once for
// all that want it. Each member goes through its epoch at its own pace. A batch
// stays in its slot, for members that come to it later, until the slot is
// needed; then it is made again for them (BatchCache; BatchScheduler says whose
// turn it is). A free slot is the credit to read: no slot, no read.
//
// The least memory for that is reserved as long as the members are there; slots
// exist from the first Start to Reclaim.
//
// Thread-safe, but Start and Stop of one member come from one thread at a time.
// Made by Create and kept alive by its own work under way. Owns its slots;
// channels belong to the members. Start blocks while memory is cleared, Peek
// while a batch is copied; nothing else blocks. Errors: those of Create, Join,
// Start and Peek; a sample's error ends the epoch of those who come to it.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // RESOURCE_EXHAUSTED: no memory for reads, or batches beyond all measure.
  static absl::StatusOr<std::shared_ptr<Stream>> Create(
      StreamSpec spec, StreamDeps deps,
      SharingMode sharing_mode = SharingMode::kElastic);

  std::uint64_t slot_bytes() const { return layout_.slot_bytes(); }
  std::uint64_t samples_per_epoch() const;
  std::uint64_t batches_per_epoch() const;

  // From now on the channel's owner may start epochs; its part of the work is
  // charged to `flow`, and `depth` batches are prepared ahead for it (0: the
  // default). RESOURCE_EXHAUSTED: no memory for its slots.
  absl::StatusOr<arena::MemberId> Join(arena::Channel* channel,
                                       schedule::Flow flow,
                                       std::uint32_t depth = 0);
  // Whether the member's job has a cap, of reading or of CPU time: none until
  // set. Caps hold up what is made for jobs with caps alone.
  void SetCapped(arena::MemberId member, bool capped);
  // The member starts no epoch any more, but may hold batches. When no other
  // does, all memory goes back that these do without.
  void Close(arena::MemberId member);
  // The member is gone: its epoch and its leases end.
  void Forfeit(arena::MemberId member);
  // Whether the member holds a batch, or could still take one. Takes its
  // releases first, of which nobody may have told.
  bool Holds(arena::MemberId member);

  // Starts `epoch` for the member, passing over the first samples. `list`: as
  // Sampler::Epoch's or, where the order is coordinated, what was seen of the
  // epoch; such orders are one member's alone. Returns descriptors of the
  // slots, as SlotsFrom(0). FAILED_PRECONDITION: it has an epoch under way, or
  // takes nothing of what is published; INVALID_ARGUMENT: no epoch has that
  // number, or the list is none for it; OUT_OF_RANGE: the epoch has fewer
  // samples; RESOURCE_EXHAUSTED: the host has no memory or descriptors left.
  // Where it fails, all is as it was.
  absl::StatusOr<std::vector<base::Fd>> Start(
      arena::MemberId member, std::uint64_t epoch, std::uint64_t first_sample,
      const std::shared_ptr<const base::IndexList>& list = nullptr);
  // Descriptors of the slots from number `first` on, in order, but not more
  // than a message takes. RESOURCE_EXHAUSTED: no descriptors are left.
  absl::StatusOr<std::vector<base::Fd>> SlotsFrom(std::uint32_t first) const;
  // Publishes nothing more of the member's epoch under way, if any.
  void Stop(arena::MemberId member);
  // To be called now and then: gives back memory that it does without just now,
  // and looks for what nobody told it.
  void Rest();
  // Gives the slots back if no epoch has run for so long and nobody holds one.
  // True if none are left.
  bool Reclaim(std::int64_t idle_nanos);

  // Takes the releases that `member` pushed. INVALID_ARGUMENT: garbage in its
  // ring.
  absl::Status TakeReleases(arena::MemberId member);

  StreamSnapshot Snapshot(arena::MemberId member);
  // The slot published last. UNAVAILABLE: there is none to see now;
  // RESOURCE_EXHAUSTED: no memory for the copy.
  absl::StatusOr<SlotCopy> Peek();

 private:
  using Flows = std::vector<schedule::Flow>;
  using Payers = std::shared_ptr<const Flows>;  // at least one
  // A worker's task to be submitted.
  struct Task {
    executor::Demand demand;
    Flows flows;
  };
  // What is to be done when the mutex is free.
  struct Plan {
    std::vector<storage::ReadRequest> requests;
    std::vector<Task> tasks;
    bool grows = false;  // one more slot is to be made
  };

  Stream(StreamSpec spec, StreamDeps deps, SharingMode sharing_mode,
         const BatchLayout& layout, base::MemoryReservation read_window);

  std::int64_t Now() const { return deps_.clock->NowNanos(); }

  // Sees to it that there are slots, so many if there are none.
  absl::Status MakeSlots(std::uint32_t slots);
  absl::StatusOr<std::vector<base::Fd>> SlotsFromLocked(
      std::uint32_t first) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const EpochPair> EpochsLocked(
      std::uint64_t epoch, const std::shared_ptr<const base::IndexList>& list)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What is made for the member is made for others that want it, or for nobody.
  void RetireLocked(const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Publishes what there is, turns credits into batches and batches into reads;
  // the caller executes the plan when it has let go of the mutex.
  Plan PlanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A thread comes that will look for releases before it leaves. As long as one
  // is there nobody need tell of them; while bytes are awaited, none is.
  void EnterLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave();
  // Tells the members whether they are looked at, and plans anew if one that
  // is so no longer has done something meanwhile.
  void TellLookingLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeliverLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sees to it that each batch in the making is charged to all that run or, if
  // only jobs with caps want it, to those: so it is held up by a cap only as
  // long as nobody else has come to it.
  void ChargeLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChargeToLocked(Batch& batch, const Flows& charged, Plan* plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void SetPayers(const Payers& payers, storage::ReadRequest* request);
  void ReadLocked(Plan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseIfNobodyPaysLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How far the member's batches have been asked for.
  std::uint64_t AskedForLocked(const Member& member) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Execute(Plan plan);
  void MakeSlot();

  void OnRead(PendingSample* pending, absl::StatusOr<base::Bytes> bytes);
  // Where the samples of batches wait that are charged to these.
  DecodeQueue& QueueLocked(const Flows& charged)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropIfEmptyLocked(const Flows& charged)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One more task, if that queue wants one.
  std::optional<Task> NextTaskLocked(const Flows& charged)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a task that makes so many samples, of which `first` is wanted first.
  executor::Demand DemandLocked(const PendingSample& first,
                                std::uint32_t samples) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Submit(std::optional<Task> task);
  void RunTask(int worker, const Flows& charged);
  void Make(ReadSample* sample, pipeline::Workspace& workspace) const;
  // Has the sample made when it is its turn.
  void MakeInTurn(ReadSample sample);
  void Finish(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos);
  void BookLocked(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where what is made for the place is booked.
  Production* ProductionOfLocked(const PendingSample& pending)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishSampleLocked(const ReadSample& sample, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StoreLocked(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StreamSpec spec_;
  const StreamDeps deps_;
  const BatchLayout layout_;
  CachedDecoder variants_;
  const SampleMaker maker_;
  const std::shared_ptr<LargeSamples> large_;
  mutable base::Mutex mutex_;
  Prefetcher prefetcher_ ABSL_GUARDED_BY(mutex_);
  BatchCache batch_cache_ ABSL_GUARDED_BY(mutex_);
  MemberSet members_ ABSL_GUARDED_BY(mutex_);
  InFlightBatches in_flight_ ABSL_GUARDED_BY(mutex_);
  BatchScheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  Publisher publisher_ ABSL_GUARDED_BY(mutex_);
  // By whom it is charged to, so that a cap holds up no other's tasks.
  std::map<Flows, DecodeQueue> decode_queues_ ABSL_GUARDED_BY(mutex_);
  // While anything is read: the callbacks count on it. Tasks hold their own.
  std::shared_ptr<Stream> alive_ ABSL_GUARDED_BY(mutex_);

  Flows flows_ ABSL_GUARDED_BY(mutex_);  // of those that run, or ran last
  std::vector<std::shared_ptr<const EpochPair>> epoch_pairs_
      ABSL_GUARDED_BY(mutex_);
  std::uint32_t samples_to_decode_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint32_t at_work_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that look
  // What was heard of the members when a plan was made last.
  std::uint64_t heard_ ABSL_GUARDED_BY(mutex_) = 0;
  SampleCost cost_ ABSL_GUARDED_BY(mutex_);
  Production unpaid_ ABSL_GUARDED_BY(mutex_);  // of members that are gone
  std::int64_t used_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_H_
