#ifndef FOREBAY_SERVER_STREAM_MEMBER_H_
#define FOREBAY_SERVER_STREAM_MEMBER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "proto/shm_ring.h"
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/cache/next_use_registry.h"
#include "server/dataset/dataset.h"
#include "server/device/device.h"
#include "server/schedule/flow.h"
#include "server/stream/batch_cache.h"
#include "server/stream/cursor.h"
#include "server/stream/depth.h"
#include "server/stream/epoch_next_use.h"
#include "server/stream/next_use_registrations.h"
#include "server/stream/pace.h"
#include "server/stream/stream_snapshot.h"

namespace forebay::stream {

// A loader in a stream: its position in the epoch, its pace, and the account of
// the batches that it took. A batch counts as delivered when the client says
// that it took it; the client can say so only of published batches.
//
// Not thread-safe: the stream guards it. The channel and the registry outlive
// it. Never blocks. Errors: TakeReleases.
class Member {
 public:
  struct Terms {
    schedule::Flow flow = 0;  // pays for its part of the work
    // Slots that it pays for: the most batches that it holds or has in flight.
    std::uint32_t slots = 0;
    // Where its batches lie; null: on the host.
    std::shared_ptr<device::Device> device = nullptr;
  };
  // The registry of its next use, and the dataset that it reads.
  struct NextUseDeps {
    cache::NextUseRegistry* next_use_registry = nullptr;
    std::shared_ptr<const dataset::Dataset> dataset;
  };

  Member(arena::MemberId id, arena::Channel* channel, const Terms& terms,
         const BatchOptions& batch, const NextUseDeps& next_use_deps);

  arena::MemberId id() const { return id_; }
  arena::Channel* channel() const { return channel_; }
  const Terms& terms() const { return terms_; }
  const device::Device* device() const { return terms_.device.get(); }
  // Says that it starts no more epochs.
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }
  // Whether it had an epoch, and may start another one; and whether none is
  // under way.
  bool has_started() const { return !closed_ && cursor_.epochs() != nullptr; }
  bool rests() const { return has_started() && !cursor_.running(); }
  // Pays for no more slots than that. Returns how many it ceases to pay for.
  std::uint32_t PayAtMost(std::uint32_t slots);
  // Entries published and not taken.
  std::size_t untaken() const { return untaken_.size(); }

  const Cursor& cursor() const { return cursor_; }
  // The key of the first batch that the client has not taken.
  BatchKey place() const { return {cursor_.epoch(), counters_.position}; }
  const Depth& depth() const { return depth_; }
  const Pace& pace() const { return pace_; }
  Production& production() { return production_; }

  // The batches that were made for it, as BatchRequest::served counts them.
  double served = 0;
  // Whether its job has a cap, which holds up what is made for it alone.
  bool capped = false;

  void Start(std::shared_ptr<const EpochPair> epochs,
             std::uint64_t first_sample, std::int64_t now_nanos);
  // Ends its epoch.
  void Stop();
  // Says that the slots were given back, and so no epoch is expected soon.
  void Rest() { next_use_->Pause(); }
  // Says that so many batches are ready, and more are to come.
  void SawReady(std::size_t ready) { depth_.SawReady(ready); }
  // Says that a batch was published while so many others were ready.
  void Delivered(std::uint32_t ready) { starves_ = ready == 0; }
  // Returns how long its trainer has waited since the look before. The client
  // counts that time, and only while it runs.
  std::int64_t LookAtWait();
  // Says that the producers' host worked at that look.
  void SawHostWork() { waited_at_work_ = waited_at_look_; }
  // How long its trainer has waited since then; 0 if a batch is ready.
  std::int64_t WaitedForHost() const;
  // Whether its trainer waits for batches: none was ready when the last one was
  // published, and that was a moment ago.
  bool Starves(std::int64_t now_nanos) const;
  // Says that all samples of the epoch before `position` were requested.
  void Asked(std::uint64_t position, std::int64_t now_nanos) {
    next_use_->Advance(position, pace_.TimeOf(1), now_nanos);
  }

  // Says that its job started the producers' host, or that of a live dataset,
  // which is for all: it hears what the host lacks. Others hear ABORTED, and
  // may go on with a host of their own.
  void OwnHost() { owns_host_ = true; }

  // Passes over the next batch, which is gone.
  void PassOver() { cursor_.Advance(); }
  // Publishes the next batch, whose slot the caller has leased.
  void Publish(const CompletedBatch& batch, std::uint32_t generation,
               std::int64_t now_nanos);
  // Publishes the closing entry of the epoch: its error, or its end.
  void Close(const absl::Status& status);

  // Brings the counters up to what the client has taken.
  const MemberCounters& Account();

  // The time until its trainer needs the sample at `position` of its epoch, as
  // schedulers take it: smaller is sooner.
  std::uint64_t UrgencyAt(std::uint64_t position) const;
  // The nanoseconds until it takes the batch; cache::kNever if it does not. A
  // member that stands still is expected to do so for as long again.
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;

  // Whether it pauses for longer than its pace explains.
  bool StandsStill(std::int64_t now_nanos) const;

  // Ends the leases that the client released and, once it has left, those of
  // batches that it never took. INVALID_ARGUMENT, from then on: its ring holds
  // garbage.
  absl::Status TakeReleases(arena::SlotPool& pool);
  // Counts the releases and taken entries that were seen so far.
  std::uint64_t heard() const { return released_ + taken_; }
  // Whether the stream polls its releases; else the client wakes the stream.
  bool is_looked_at() const { return is_looked_at_; }
  void SetLooking(bool looks);

 private:
  struct PublishedEntry {
    bool batch = false;    // or a closing entry
    bool earlier = false;  // of an epoch before the one under way
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
  };

  // Ends the leases of batches that the client will never take.
  void GiveBackUntaken(arena::SlotPool& pool);
  // How long it has left a batch ready; and what its pace explains of that.
  std::int64_t IdleAt(std::int64_t now_nanos) const;
  std::int64_t ExplainedIdle(std::int64_t idle_nanos) const;
  // Far below cache::kNever, so that lateness can be added.
  std::int64_t TimeOf(std::uint64_t samples) const {
    return std::min(INT64_MAX / 4, pace_.TimeOf(samples));
  }

  const arena::MemberId id_;
  arena::Channel* const channel_;
  Terms terms_;
  Cursor cursor_;
  Depth depth_;
  Pace pace_;
  bool starves_ = true;
  bool owns_host_ = false;
  // The nanoseconds that its trainer had waited in all at the last look, and at
  // the last one that saw the host work.
  std::uint64_t waited_at_look_ = 0;
  std::uint64_t waited_at_work_ = 0;
  const std::shared_ptr<EpochNextUse> next_use_;
  const NextUseRegistrations registrations_;  // of next_use_
  Production production_;

  bool is_looked_at_ = false;
  std::uint64_t released_ = 0;  // leases that it ended
  std::uint64_t taken_ = 0;     // ready entries accounted for
  std::deque<PublishedEntry> untaken_;
  bool closed_ = false;
  bool left_ = false;  // the client takes no more
  MemberCounters counters_;
  absl::Status releases_;  // an error once the client cannot be believed
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_MEMBER_H_
