#ifndef FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_
#define FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/batch_policy.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

// Carries out the policies of batch_policy.h on a stream's members: begins the
// batch that they choose in a free slot, evicts a cached batch for it, or asks
// for one more slot.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Never blocks; no errors.
class BatchScheduler {
 public:
  BatchScheduler(SharingMode sharing_mode, MemberSet* members,
                 BatchCache* batch_cache, StagingPool* staging,
                 InFlightBatches* in_flight, bool is_live)
      : sharing_mode_(sharing_mode),
        is_live_(is_live),
        members_(members),
        batch_cache_(batch_cache),
        staging_(staging),
        in_flight_(in_flight) {}

  // Begins the batches that members request, as long as there are slots.
  // Returns true if one more slot is to be made meanwhile.
  bool Begin(std::int64_t now_nanos);

  // Returns where a member starts that asks for this place. The end of an epoch
  // of a live dataset stands for where the other members are.
  BatchKey StartFor(const BatchKey& asked, std::uint64_t samples_per_epoch);
  // Lets members of a live dataset pass over batches that are gone.
  void PassOver();
  // Lets a batch in flight that was abandoned be asked for once more: its live
  // dataset may still have it.
  void Abandoned(const BatchKey& key);
  // Awaits the members of an earlier stream, which that counts: they go on in
  // this one. In lockstep no batch is begun before all have come or left, else
  // for a second; then batches stay for them while slots allow.
  using Count = std::atomic<std::uint32_t>;
  void Await(std::shared_ptr<const Count> earlier) {
    earlier_.push_back(std::move(earlier));
  }

  // Whether nothing is begun, so that Begin is to be called again soon.
  bool is_held() const { return is_held_; }
  // The member without an epoch under way that comes back for the batch: a live
  // dataset in lockstep keeps it till then.
  std::optional<arena::MemberId> Rester(const BatchKey& key) const;
  // Whether batches are kept for members that have no epoch under way here.
  bool AwaitsAny() const;

  // The position in the epoch up to which the member's samples were requested.
  std::uint64_t AskedFor(const Member& member) const;
  // Tells what a member shares with the others. Changes nothing.
  Sharing SharingOf(const Member& member, std::int64_t now_nanos) const;

 private:
  // Inline, because this is made after each sample, and mostly for one member.
  using BatchRequests = absl::InlinedVector<BatchRequest, 2>;

  // The first batch that a member needs and that is neither cached nor in
  // flight, and what it has ahead of that.
  struct Missing {
    BatchKey key;
    std::uint32_t ahead = 0;    // batches before it
    std::uint32_t moving = 0;   // of these, in flight and moving
    std::uint32_t hanging = 0;  // of these, in flight and hanging in reads
  };
  // Returns nullopt if the member needs none soon, or no epoch is under way.
  std::optional<Missing> FindMissing(const Member& member,
                                     std::int64_t now_nanos) const;
  // Whether the batch can be made no more, and there is none.
  bool IsGone(const BatchKey& key) const;
  BatchRequest RequestFor(Member& member, const Missing& missing,
                          std::int64_t now_nanos) const;
  // The requests of all members, whose depths learn how many batches are ready.
  BatchRequests TakeRequests(std::int64_t now_nanos);
  std::optional<std::uint32_t> SlotFor(const BatchRequest& request,
                                       std::int64_t now_nanos, bool* grows);
  // The cached batch to evict first. Returns null if none can be evicted.
  const CompletedBatch* Victim(std::int64_t now_nanos) const;
  // Drops requests that must wait: a live dataset makes its batches in order,
  // once. In lockstep, none is passed over that a member needs.
  void KeepInOrder(BatchRequests* requests) const;
  // The time until the first member takes the batch, or another one that has
  // still to come, as MemberSet::NanosUntil.
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;
  // Whether it still waits for members of earlier streams to come.
  bool Holds(std::int64_t now_nanos);
  // Whether a member of an earlier stream, one that rests, or one that is
  // epochs before will come to the batch.
  bool IsAwaited(const BatchKey& key) const;
  // Whether the member of a live dataset runs in an epoch before the batch's.
  bool IsEpochsBefore(const Member& member, const BatchKey& key) const;
  bool AwaitsEarlier() const;
  // Whether a member comes to the batch, and is worth a slot more.
  bool WantsMoreFor(const CompletedBatch& batch, std::int64_t now_nanos) const;
  // Whether to make one more slot: none is being made, and there is memory.
  bool Grows();
  bool EvictsFor(const CompletedBatch& victim, const BatchRequest& request,
                 std::int64_t now_nanos) const;
  void BeginIn(std::uint32_t slot, const BatchRequest& request,
               std::int64_t now_nanos);

  const SharingMode sharing_mode_;
  const bool is_live_;
  // Of a live dataset, behind the last batch that was begun: ever, and since
  // members run.
  BatchKey frontier_;
  BatchKey gone_;
  std::vector<std::shared_ptr<const Count>> earlier_;
  bool is_held_ = false;
  std::optional<std::int64_t> held_at_nanos_;  // first
  MemberSet* const members_;
  BatchCache* const batch_cache_;
  StagingPool* const staging_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_
