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

// Carries out the policies of batch_policy.h on a stream's members. It begins
// the batch that the policies choose: in a free slot, or in the slot of a
// cached batch that it evicts. It may also ask for one more slot.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Owns no batch. Never blocks. No errors.
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
  // Returns whether one more slot is to be made meanwhile.
  bool Begin(std::int64_t now_nanos);

  // Returns the key at which a member that asks for `asked` starts. In a live
  // dataset, a member that asks for the end of an epoch starts at the key of
  // the member that is furthest ahead.
  BatchKey StartFor(const BatchKey& asked, std::uint64_t samples_per_epoch);
  // Makes members of a live dataset skip batches that are gone.
  void PassOver();
  // Returns the member that a batch in flight is made for once its payer wants
  // it no more; nullopt if the batch is to be abandoned. Members may request an
  // abandoned batch of a live dataset again, because the dataset may still have
  // it.
  std::optional<slots::MemberId> HeirOf(const BatchKey& key);
  // Makes the scheduler wait for members of an earlier stream that may go on in
  // this one; `earlier` counts them. In lockstep, no batch is begun before all
  // of them have come or left. In elastic mode, the wait lasts a second at
  // most; afterwards, batches are kept for those members while slots allow.
  using Count = std::atomic<std::uint32_t>;
  void Await(std::shared_ptr<const Count> earlier) {
    earlier_.push_back(std::move(earlier));
  }

  // Whether Begin waits for members of earlier streams. The caller is then to
  // call Begin again soon.
  bool is_held() const { return is_held_; }
  // Whether batches are kept for members that have no epoch under way here.
  bool AwaitsAny() const;

  // Returns the position in the epoch up to which the member's samples were
  // requested.
  std::uint64_t AskedFor(const Member& member) const;
  // Returns the sharing state of a member.
  Sharing SharingOf(const Member& member, std::int64_t now_nanos) const;

 private:
  // The requests of all members. The list is made after each sample, so it
  // allocates nothing for one or two members.
  using BatchRequests = absl::InlinedVector<BatchRequest, 2>;

  // The first batch that a member needs and that is neither cached nor in
  // flight.
  struct Missing {
    BatchKey key;
    // The number of batches from the member's next one up to `key`, but without
    // the batch of `key` itself.
    std::uint32_t ahead = 0;
    // How many of the `ahead` batches are in flight and make progress.
    std::uint32_t moving = 0;
    // How many of the `ahead` batches are in flight and hang in reads.
    std::uint32_t hanging = 0;
  };
  // Returns the member's Missing; nullopt if it needs no batch soon, or has no
  // epoch under way.
  std::optional<Missing> FindMissing(const Member& member,
                                     std::int64_t now_nanos) const;
  // Returns a member without an epoch under way that will come back for the
  // batch; nullopt if there is none. A live dataset in lockstep keeps the batch
  // for that member.
  std::optional<slots::MemberId> RestingMemberOf(const BatchKey& key) const;
  // Whether a batch of a live dataset is neither cached nor in flight, and
  // cannot be made any more.
  bool IsGone(const BatchKey& key) const;
  // Returns the request of a member for its missing batch.
  BatchRequest RequestFor(Member& member, const Missing& missing,
                          std::int64_t now_nanos) const;
  // Returns the requests of all members. Tells each member's depth how many of
  // its batches are ready.
  BatchRequests TakeRequests(std::int64_t now_nanos);
  // Returns a slot for the request: a free one, or that of an evicted batch.
  // Sets `*grows` if one more slot is to be made.
  std::optional<std::uint32_t> SlotFor(const BatchRequest& request,
                                       std::int64_t now_nanos, bool* grows);
  // Returns the cached batch to evict first; null if none can be evicted.
  const CompletedBatch* Victim(std::int64_t now_nanos) const;
  // Drops the requests for a live dataset that must wait. The dataset makes its
  // batches in order, so only requests for the first requested batch stay. In
  // lockstep, requests that are not open count too, so that no batch that a
  // member needs is passed over.
  void KeepInOrder(BatchRequests* requests) const;
  // Returns the nanoseconds until the first member takes the batch. Members
  // that have still to come count too.
  std::int64_t NanosUntil(const BatchKey& key, std::int64_t now_nanos) const;
  // Whether the scheduler still waits for members of earlier streams.
  bool Holds(std::int64_t now_nanos);
  // Whether a member that MemberSet::NanosUntil does not count will come to the
  // batch. That member has yet to come from an earlier stream, rests, or is in
  // an earlier epoch of a live dataset.
  bool IsAwaited(const BatchKey& key) const;
  // Whether the member of a live dataset is in an earlier epoch than the batch.
  bool IsEpochsBefore(const Member& member, const BatchKey& key) const;
  // Whether members of earlier streams have not come yet.
  bool AwaitsEarlier() const;
  // Whether one more slot is worth its memory, to keep the batch for a member
  // that will read it.
  bool WantsMoreFor(const CompletedBatch& batch, std::int64_t now_nanos) const;
  // Whether the caller is to make one more slot: none is being made, and there
  // is memory (BatchCache::Grow).
  bool Grows();
  // Whether the cached batch is evicted for the request (MayEvict).
  bool EvictsFor(const CompletedBatch& victim, const BatchRequest& request,
                 std::int64_t now_nanos) const;
  // Begins the requested batch in a slot that was taken for it.
  void BeginIn(std::uint32_t slot, const BatchRequest& request,
               std::int64_t now_nanos);

  const SharingMode sharing_mode_;
  const bool is_live_;
  // In a live dataset: the key after the last batch that was ever begun.
  BatchKey frontier_;
  // In a live dataset: the key after the last batch that was begun while the
  // present members run. Batches before it are not made again.
  BatchKey gone_;
  // Counts of the members that are still awaited, one for each earlier stream.
  std::vector<std::shared_ptr<const Count>> earlier_;
  bool is_held_ = false;
  // The time at which the waiting for earlier streams began.
  std::optional<std::int64_t> held_at_nanos_;
  MemberSet* const members_;
  BatchCache* const batch_cache_;
  StagingPool* const staging_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_
