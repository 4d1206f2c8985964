#ifndef FOREBAY_SERVER_STREAM_STREAM_H_
#define FOREBAY_SERVER_STREAM_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/sample/large_samples.h"
#include "server/schedule/flow.h"
#include "server/slots/channel.h"
#include "server/slots/slot_pool.h"
#include "server/stream/aside.h"
#include "server/stream/batch_layout.h"
#include "server/stream/batch_maker.h"
#include "server/stream/cached_decoder.h"
#include "server/stream/epoch_start.h"
#include "server/stream/field_type.h"
#include "server/stream/member.h"
#include "server/stream/member_memory.h"
#include "server/stream/produced_samples.h"
#include "server/stream/sample_maker.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/slot_copy.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_reservation.h"
#include "server/stream/stream_snapshot.h"
#include "server/stream/stream_spec.h"
#include "server/stream/stream_state.h"
#include "server/stream/worker_pool_watch.h"

namespace forebay::stream {

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
  bool HasRoomFor(absl::Span<const FieldType> fields) const {
    return spec_.HasRoomFor(fields);
  }
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
  // then the part on a GPU. UNAVAILABLE: that batch is not cached now, or
  // failed. RESOURCE_EXHAUSTED: there is no memory for the copy. Other errors:
  // those of cuda::Gpu.
  absl::StatusOr<SlotCopy> Peek();

 private:
  Stream(StreamSpec spec, StreamDeps deps, SharingMode sharing_mode,
         const BatchLayout& layout, base::MemoryReservation read_window);

  std::int64_t Now() const { return deps_.clock->NowNanos(); }

  // Starts the member's epoch, once its slots and its GPU are prepared. Returns
  // the descriptors of the slots; an error starts nothing.
  absl::StatusOr<std::vector<base::Fd>> StartLocked(slots::MemberId member,
                                                    const EpochStart& start,
                                                    CheckedStart* checked,
                                                    FreedMemory* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex);
  // Gives back all memory but that of held batches, and ends the workers, if no
  // member may start an epoch any more.
  void CloseIfNoneIsOpenLocked(FreedMemory* freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex);
  // Looks after the workers (WorkerSet::Look), and ends the epochs of members
  // that wait for a worker pool that stands still.
  void LookAfterWorkers() ABSL_LOCKS_EXCLUDED(state_.mutex);

  const StreamSpec spec_;
  const StreamDeps deps_;
  const Aside aside_;
  const BatchLayout layout_;
  CachedDecoder variants_;
  const SampleMaker sample_maker_;
  // Null if the daemon makes the samples.
  const std::unique_ptr<ProducedSamples> produced_;
  const std::shared_ptr<sample::LargeSamples> large_;
  StreamState state_;
  // Thread-safe; locks the state's mutex itself.
  BatchMaker batch_maker_;
  WorkerPoolWatch pool_watch_ ABSL_GUARDED_BY(state_.mutex);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_H_
