#ifndef FOREBAY_SERVER_STREAM_MEMBER_H_
#define FOREBAY_SERVER_STREAM_MEMBER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "proto/counters.pb.h"
#include "proto/shm_ring.h"
#include "server/cache/next_use_registry.h"
#include "server/dataset/dataset.h"
#include "server/device/device.h"
#include "server/schedule/flow.h"
#include "server/slots/channel.h"
#include "server/slots/slot_pool.h"
#include "server/stream/batch_cache.h"
#include "server/stream/cursor.h"
#include "server/stream/depth.h"
#include "server/stream/epoch_next_use.h"
#include "server/stream/next_use_registrations.h"
#include "server/stream/pace.h"

namespace forebay::stream {

// A loader in a stream: its position in the epoch, its pace, and the account of
// the batches that it took. A batch counts as delivered when the client says
// that it took the batch; the client can say so only of published batches.
//
// Not thread-safe: the stream guards it. The channel and the registry outlive
// it. Owns its accounts. Never blocks. Errors: TakeReleases.
class Member {
 public:
  // The conditions under which a loader joined.
  struct Terms {
    // The flow that pays for the member's part of the work.
    schedule::Flow flow = 0;
    // The number of slots that the member pays for. It bounds the batches that
    // the member holds and those in flight for it, together.
    std::uint32_t slots = 0;
    // The GPU on which its batches lie; null if they lie on the host.
    std::shared_ptr<device::Device> device = nullptr;
  };
  // The registry of next uses, and the dataset that the member reads.
  struct NextUseDeps {
    cache::NextUseRegistry* next_use_registry = nullptr;
    std::shared_ptr<const dataset::Dataset> dataset;
  };

  Member(slots::MemberId id, slots::Channel* channel, const Terms& terms,
         const BatchOptions& batch, const NextUseDeps& next_use_deps);

  slots::MemberId id() const { return id_; }
  slots::Channel* channel() const { return channel_; }
  const Terms& terms() const { return terms_; }
  const device::Device* device() const { return terms_.device.get(); }
  // Tells that the member starts no more epochs.
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }
  // Whether the member has had an epoch and may start another one. rests() is
  // true if, besides, no epoch is under way.
  bool has_started() const { return !closed_ && cursor_.epochs() != nullptr; }
  bool rests() const { return has_started() && !cursor_.running(); }
  // If the member pays for more than `slots` slots, reduces their number to
  // `slots`. Returns by how much.
  std::uint32_t PayAtMost(std::uint32_t slots);
  // Returns the number of entries that are published and not taken.
  std::size_t untaken() const { return untaken_.size(); }

  const Cursor& cursor() const { return cursor_; }
  // Returns the key of the first batch that the client has not taken.
  BatchKey place() const { return {cursor_.epoch(), position_}; }
  const Depth& depth() const { return depth_; }
  const Pace& pace() const { return pace_; }
  // The counters of the work done for the member, which callers book, and of
  // what Account has found taken.
  proto::LoaderCounters& counters() { return counters_; }
  // Returns the number of samples that the client has taken in this epoch.
  std::uint64_t position() const { return position_; }

  // The number of batches made for the member (BatchRequest::served).
  double served = 0;
  // Whether the member's job has a cap. Caps hold up only batches that are made
  // for members with caps alone.
  bool capped = false;

  void Start(std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample, std::int64_t now_nanos);
  // Ends the member's epoch.
  void Stop();
  // Tells that the slots were given back: no epoch is expected soon.
  void PauseNextUse() { next_use_->Pause(); }
  // Tells that `ready` batches are ready, and more are to come.
  void SawReady(std::size_t ready) { depth_.SawReady(ready); }
  // Tells that a batch was published while `ready` others were ready.
  void Delivered(std::uint32_t ready) { starves_ = ready == 0; }
  // Returns the nanoseconds that the member's trainer has waited since the last
  // call. The client counts that time, and only while it runs.
  std::int64_t LookAtWait();
  // Tells that the worker pool was working at the last call of LookAtWait.
  void SawPoolWork() { waited_at_work_ = waited_at_look_; }
  // Returns the nanoseconds that the trainer has waited since the worker pool
  // was last seen to work; 0 if a batch is ready.
  std::int64_t WaitedForWorkerPool() const;
  // Whether the trainer waits for batches. True if no other batch was ready
  // when the last one was published, and the trainer has taken that batch or
  // has had only a moment to do so.
  bool Starves(std::int64_t now_nanos) const;
  // Tells that all samples of the epoch before `position` were requested.
  void Asked(std::uint64_t position, std::int64_t now_nanos) {
    next_use_->Advance(position, pace_.TimeOf(1), now_nanos);
  }

  // Tells that the member's job started the worker pool, or that all members of
  // a live dataset share the pool. The member's errors then say what the pool
  // lacks. Other members get ABORTED, and may go on with a pool of their own.
  void OwnWorkerPool() { owns_worker_pool_ = true; }

  // Moves behind the next batch, which is gone.
  void PassOver() { cursor_.Advance(); }
  // Publishes the next batch, whose slot the caller has leased.
  void Publish(const CompletedBatch& batch, std::uint32_t generation,
               std::int64_t now_nanos);
  // Publishes the closing entry of the epoch: its error, or its end if OK.
  void Close(const absl::Status& status);

  // Updates the counters and the position by what the client has taken. Returns
  // the number of batches that are published and not taken.
  std::uint32_t Account();

  // Returns the nanoseconds until the trainer needs the sample at `position` of
  // its epoch. Schedulers use the result as urgency: the smallest comes first.
  std::uint64_t UrgencyAt(std::uint64_t position) const;
  // Returns the nanoseconds until the member takes the batch; cache::kNever if
  // it does not. A member that stands still is expected to do so for as long
  // again.
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;

  // Whether the member pauses for longer than its pace explains.
  bool StandsStill(std::int64_t now_nanos) const;

  // Ends the leases that the client released and, once the client has left, the
  // leases of batches that it never took. INVALID_ARGUMENT, now and in all
  // later calls: the client's ring holds impossible values.
  absl::Status TakeReleases(slots::SlotPool& pool);
  // Returns the number of releases and taken entries that were seen so far.
  std::uint64_t heard() const { return released_ + taken_count_; }
  // Whether the stream polls the member's releases. If not, the client wakes
  // the stream.
  bool is_looked_at() const { return is_looked_at_; }
  void SetLooking(bool looks);

 private:
  // An entry of the ready ring that the client has not taken.
  struct PublishedEntry {
    // Whether the entry has a batch; if not, it closes an epoch.
    bool batch = false;
    // Whether the entry belongs to an earlier epoch than the one under way.
    bool earlier = false;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
  };

  // Ends the leases of batches that the client will never take.
  void GiveBackUntaken(slots::SlotPool& pool);
  // Returns the nanoseconds since a batch was last published to the member; 0
  // if the member has no ready batch, or none was published in this epoch.
  std::int64_t IdleAt(std::int64_t now_nanos) const;
  // Returns the part of `idle_nanos` that the member's pace explains.
  std::int64_t ExplainedIdle(std::int64_t idle_nanos) const;
  // Returns Pace::TimeOf, bounded far below cache::kNever so that lateness can
  // be added.
  std::int64_t TimeOf(std::uint64_t samples) const {
    return std::min(INT64_MAX / 4, pace_.TimeOf(samples));
  }

  const slots::MemberId id_;
  slots::Channel* const channel_;
  Terms terms_;
  Cursor cursor_;
  Depth depth_;
  Pace pace_;
  bool starves_ = true;
  bool owns_worker_pool_ = false;
  // All the nanoseconds that the trainer had waited: at the last LookAtWait,
  // and at the last LookAtWait before SawPoolWork.
  std::uint64_t waited_at_look_ = 0;
  std::uint64_t waited_at_work_ = 0;
  const std::shared_ptr<EpochNextUse> next_use_;
  const NextUseRegistrations registrations_;

  bool is_looked_at_ = false;
  // The number of leases that TakeReleases has ended.
  std::uint64_t released_ = 0;
  // The number of ready entries that the client took and that are accounted
  // for.
  std::uint64_t taken_count_ = 0;
  std::deque<PublishedEntry> untaken_;
  bool closed_ = false;
  // Whether the client takes no more entries.
  bool left_ = false;
  proto::LoaderCounters counters_;
  std::uint64_t position_ = 0;  // see position()
  std::uint32_t ready_ = 0;     // batches published and not taken
  // An error once the client's ring held impossible values.
  absl::Status releases_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_MEMBER_H_
